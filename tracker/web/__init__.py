"""The frame of endpoints: their checks, answers and exports, whatever their subject."""
