"""Deprecated name of `herder.samplers.scan_check`."""

from herder._deprecated import renamed_names

__getattr__ = renamed_names(
    __name__,
    {
        "OrderReport": "herder.samplers.scan_check.OrderReport",
        "ScanReport": "herder.samplers.scan_check.ScanReport",
        "diagnose": "herder.samplers.scan_check.check_scan_orders",
    },
)
