/*M!999999\- enable the sandbox mode */ 
-- MariaDB dump 10.19-11.4.2-MariaDB
/*!40103 SET TIME_ZONE='+00:00' */;
CREATE TABLE `domains` (
  `id` int(10) unsigned NOT NULL AUTO_INCREMENT,
  `banned` tinyint(1) NOT NULL DEFAULT 0,
  `address` varchar(255) NOT NULL,
  `homepage` varchar(255) DEFAULT NULL,
  PRIMARY KEY (`id`)
);
INSERT INTO `domains` VALUES (7,0,'go.ex.test',NULL);
CREATE TABLE `links` (
  `id` int(10) unsigned NOT NULL AUTO_INCREMENT,
  `address` varchar(255) NOT NULL,
  `description` varchar(255) DEFAULT NULL,
  `banned` tinyint(1) NOT NULL DEFAULT 0,
  `banned_by_id` int(10) unsigned DEFAULT NULL,
  `domain_id` int(10) unsigned DEFAULT NULL,
  `password` varchar(255) DEFAULT NULL,
  `expire_in` datetime DEFAULT NULL,
  `target` varchar(2040) NOT NULL,
  `user_id` int(10) unsigned DEFAULT NULL,
  `visit_count` int(11) NOT NULL DEFAULT 0,
  `created_at` timestamp NOT NULL DEFAULT current_timestamp(),
  `updated_at` timestamp NOT NULL DEFAULT current_timestamp(),
  `uuid` char(36) NOT NULL DEFAULT uuid()
);
INSERT INTO `links` VALUES
(1,'aB3','It\'s one','0',NULL,7,'$2a$12$abcdefghijklmnopqrstuuAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA','2026-12-31 23:00:00','https://ex.test/',1,9,'2026-01-01 00:00:00','2026-01-01 00:00:00','6f1c0000-0000-4000-8000-000000000001'),
(2,'bad',NULL,1,1,NULL,NULL,NULL,'https://ex.test/b',1,0,'2026-01-01 00:00:00','2026-01-01 00:00:00','6f1c0000-0000-4000-8000-000000000002'),
(3,'lost',NULL,0,NULL,99,NULL,NULL,'https://ex.test/c',1,0,'2026-01-01 00:00:00','2026-01-01 00:00:00','6f1c0000-0000-4000-8000-000000000003'),
(4,'app',NULL,0,NULL,NULL,NULL,NULL,'whatsapp://send',1,0,'2026-01-01 00:00:00','2026-01-01 00:00:00','6f1c0000-0000-4000-8000-000000000004');
CREATE TABLE `visits` (`id` int, `countries` text, `created_at` timestamp, `link_id` int, `referrers` text, `total` int, `br_chrome` int);
INSERT INTO `visits` VALUES (1,'{\"de\": 9}','2026-01-01 10:00:00',1,'{\"t[dot]test\": 4, \"direct\": 5}',9,9);
