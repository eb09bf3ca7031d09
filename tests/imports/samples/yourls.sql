-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)
/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
/*!40101 SET NAMES utf8mb4 */;
/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */;
/*!40103 SET TIME_ZONE='+02:00' */;

--
-- Table structure for table `short_log`; it's the first
--

DROP TABLE IF EXISTS `short_log`;
CREATE TABLE `short_log` (
  `click_id` int(11) NOT NULL AUTO_INCREMENT,
  `click_time` datetime NOT NULL,
  `shorturl` varchar(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL COMMENT 'one, (of `url`)',
  `referrer` varchar(200) NOT NULL DEFAULT 'direct',
  `user_agent` varchar(255) NOT NULL,
  `ip_address` varchar(41) NOT NULL,
  `country_code` char(2) NOT NULL,
  PRIMARY KEY (`click_id`),
  KEY `shorturl` (`shorturl`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
LOCK TABLES `short_log` WRITE;
/*!40000 ALTER TABLE `short_log` DISABLE KEYS */;
INSERT INTO `short_log` VALUES (1,'2024-01-03 00:00:00','ab-c','direct','curl/8 (it\'s; \"x\")','192.0.2.9','DE'),(2,'2024-01-03 00:00:00','ab-c','https://t.test/a,b','','192.0.2.9','');
INSERT INTO `short_log` VALUES (5,'0000-00-00 00:00:00','ab-c','','','','xx');
/*!40000 ALTER TABLE `short_log` ENABLE KEYS */;
UNLOCK TABLES;
CREATE TABLE `short_options` (`option_id` bigint(20), `option_name` varchar(64), `option_value` longtext);
INSERT INTO `short_options` VALUES (1,'note','INSERT INTO `short_url` VALUES (\'x\');\n-- no; comment'),(2,'n',NULL);
CREATE TABLE `wp_redirects_url` (`id` int, `url` text);
INSERT INTO `wp_redirects_url` VALUES (1,'https://other.test/');
CREATE TABLE `short_url` (
  `keyword` varchar(100) COLLATE utf8mb4_bin NOT NULL,
  `url` text NOT NULL,
  `title` text,
  `timestamp` timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
  `ip` varchar(41) NOT NULL,
  `clicks` int(10) unsigned NOT NULL,
  PRIMARY KEY (`keyword`)
) ENGINE=InnoDB;
INSERT INTO `short_url` VALUES ('ab-c','https://ex.test/?q=it\'s','A ''title'';\nof two \\ lines','2024-01-02 03:04:05','192.0.2.1',3),('AB-C','https://ex.test/upper',NULL,'2024-01-02 03:04:05','',0),
('mail','mailto:a@ex.test','','2024-01-02 03:04:05','192.0.2.1',1);
INSERT IGNORE INTO `short_url` (`url`, `keyword`, `title`, `timestamp`, `ip`, `clicks`) VALUES ('https://ex.test/ü?a=(1)','käse','','2024-01-02 03:04:05','192.0.2.1',1) ON DUPLICATE KEY UPDATE `clicks` = 1;
INSERT INTO `short_url` VALUES ('few','https://ex.test/few');
/*!40103 SET TIME_ZONE=@OLD_TIME_ZONE */;
-- Dump completed on 2024-02-01  0:00:00
