"""Criteria of `acceptance/virtual-time`: threads, validation, replay, tracer, closed forms, speed."""

ORDER = ("repeat", "validate", "replay", "tracer", "forms", "dependence", "instructions", "speed")
