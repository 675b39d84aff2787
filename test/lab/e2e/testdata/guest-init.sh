#!/bin/busybox sh
# Process 1 of a guest that routes between two networks: it recognizes the interfaces
# by their addresses, and reports its progress on the console.
/bin/busybox mkdir -p /proc /sys /dev /etc
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for module in $(cat /modules/order); do
  insmod "/modules/$module"
done
for marker in lab-e2e-disk lab-e2e-seed; do
  grep -q "$marker" /dev/vd? && echo "GUEST READS $marker"
done
for link in /sys/class/net/*; do
  name=${link##*/}
  case $(cat "$link/address") in
    02:00:00:00:00:01) ip addr add 10.0.2.2/24 dev "$name" && ip link set "$name" up && ip route add default via 10.0.2.1 ;;
    02:00:00:00:01:01) ip addr add 10.1.0.1/24 dev "$name" && ip link set "$name" up ;;
    02:00:00:00:02:01) ip addr add 10.2.0.1/24 dev "$name" && ip link set "$name" up ;;
  esac
done
echo 1 >/proc/sys/net/ipv4/ip_forward
echo "GUEST ROUTES"
# Masquerading lets the guest out to the cluster's services.
echo "nameserver 10.96.0.10" >/etc/resolv.conf
until nslookup kubernetes.default.svc.cluster.local | grep -q 10.96.0.1; do sleep 1; done
echo "GUEST RESOLVES"
while true; do sleep 1000; done
