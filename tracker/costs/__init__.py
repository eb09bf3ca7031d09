"""Costs of periods, as people and programs enter them. `reports/costs` spreads them over clicks."""
