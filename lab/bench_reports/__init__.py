"""The cost of reports as clicks grow, beside that of aggregating the clicks themselves.

Each scene has accounts of its own, filled through the drain as the service would.

- `month`: every kind of report over 30 days, at three sizes.
- `strangers`: a day of as many different campaigns as clicks, beside a day of one campaign.
- `year`: many links over a year, and an account over two.
"""
