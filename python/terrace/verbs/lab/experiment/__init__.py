# SPDX-License-Identifier: Apache-2.0
"""`terrace lab experiment`: reproduce published studies and compare with their results."""
