package plan

import (
	"crypto/sha256"
	"net"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"

	"vnfbench.io/operator/api/v1alpha1"
)

// All addresses are from the ranges reserved for benchmarks: 198.18.0.0/15 (RFC 2544 appendix
// C.2.2) and 2001:2::/48 (RFC 5180 section 8, erratum 1752). The stub networks are on the other
// side of the generator's two ports; the segments between the functions use the lower halves.
var (
	stubWest = networks{netip.MustParsePrefix("198.18.128.0/17"), netip.MustParsePrefix("2001:2:0:8000::/64")}
	stubEast = networks{netip.MustParsePrefix("198.19.128.0/17"), netip.MustParsePrefix("2001:2:0:9000::/64")}
)

// UDP ports of RFC 2544's test frame (appendix C.2.6.4): from C020 hexadecimal to echo.
const (
	oneFlowSourcePort      = 49184
	oneFlowDestinationPort = 7
)

// networks is one network in both families.
type networks struct{ ipv4, ipv6 netip.Prefix }

func (n networks) both() []netip.Prefix { return []netip.Prefix{n.ipv4, n.ipv6} }

// host returns the network's first address.
func (n networks) host(family v1alpha1.IPFamily) netip.Addr {
	if family == v1alpha1.FamilyIPv6 {
		return n.ipv6.Addr().Next()
	}
	return n.ipv4.Addr().Next()
}

// The host numbers of a segment's ends.
const (
	hostWest = 1
	hostEast = 2
)

// onSegment returns a host of a segment with the segment's prefix length:
// 198.18.<segment>.<host>/24 and 2001:2:0:<segment>::<host>/64.
func onSegment(segment int, host byte) networks {
	ipv4 := netip.AddrFrom4([4]byte{198, 18, byte(segment), host})
	ipv6 := netip.AddrFrom16([16]byte{0: 0x20, 1: 0x01, 3: 0x02, 7: byte(segment), 15: host})
	return networks{netip.PrefixFrom(ipv4, 24), netip.PrefixFrom(ipv6, 64)}
}

// Places in a MAC address: the generator, functions 1 to 8 by
// their place in the chain, and the generator's ports for calibration.
const (
	placeGenerator   = 0
	placeCalibration = maxFunctions + 1
)

// macAddress returns a locally administered unicast address. Five octets name the testbed, the
// last one the place and the port, so that no two ports of a testbed have the same
// address.
func macAddress(testbed types.UID, place, host int) string {
	sum := sha256.Sum256([]byte(testbed))
	octets := net.HardwareAddr(sum[:6])
	octets[0] = octets[0]&^0x03 | 0x02
	octets[5] = byte(place<<2 | host)
	return octets.String()
}
