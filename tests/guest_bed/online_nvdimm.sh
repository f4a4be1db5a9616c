#!/bin/bash
# Makes a memory node of the guest's first NVDIMM, as `daxctl reconfigure-device --mode=system-ram` does: the module
# becomes a device of its own, with the descriptions of its pages in ordinary memory, and the driver kmem gives that
# device to the system. Prints the node's number.
# Linux: Documentation/ABI/testing/sysfs-bus-nvdimm, drivers/dax/kmem.c, admin-guide/mm/memory-hotplug.rst.
set -eu
for module in nfit dax_pmem device_dax kmem; do /bin/busybox modprobe $module; done

# Devices appear some time after their drivers are loaded.
await() {
  for _ in {1..200}; do
    [ -e "$1" ] && return
    sleep 0.05
  done
  echo "there is no $1" >&2
  exit 1
}

device=/sys/bus/nd/devices/dax0.0
await $device
echo ram >$device/mode
echo 2097152 >$device/align
cat /proc/sys/kernel/random/uuid >$device/uuid
echo namespace0.0 >$device/namespace
echo dax0.0 >/sys/bus/nd/drivers/dax_pmem/bind
await /sys/bus/dax/devices/dax0.0
node=$(cat /sys/bus/dax/devices/dax0.0/target_node)
echo dax0.0 >/sys/bus/dax/drivers/device_dax/unbind
echo dax0.0 >/sys/bus/dax/drivers/kmem/new_id
for block in /sys/devices/system/node/node"$node"/memory*/state; do
  [ "$(cat "$block")" = online ] || echo online_movable >"$block"
done
echo "$node"
