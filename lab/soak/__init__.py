"""Clicks and events at a steady rate for minutes: does the service grow, err or lose anything?

    make soak ARGS='--seconds 120'

Runs a web and a drain process on stores of its own. The client keeps the id of every answer; in the
end each of them has to be stored, once, and counted.
"""
