"""Settings of a group's health that tests share."""

# Every origin is drawn for fast reads, whatever it does: not one that lies, fails or answers late is
# taken out, even on a machine so busy that an honest one does.
ALWAYS_DRAWN = {"quarantine": False, "slow": False, "failures_max": 100000}
