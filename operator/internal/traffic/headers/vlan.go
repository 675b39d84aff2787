package headers

import (
	"encoding/binary"
	"fmt"
	"slices"

	"vnfbench.io/operator/internal/measure"
)

const (
	// EtherTypeVLAN is the EtherType of an 802.1Q tag.
	EtherTypeVLAN = 0x8100
	// TagOffset is the offset of a tag, after both Ethernet addresses.
	TagOffset = 12
	// MaximumVLAN is the highest number of a tag; 4095 is reserved (IEEE 802.1Q).
	MaximumVLAN = 4094
)

// CheckVLANs verifies that every port's tag has a valid number.
func CheckVLANs(path measure.Path) error {
	for _, p := range path.Ports {
		if p.VLAN < 0 || p.VLAN > MaximumVLAN {
			return fmt.Errorf("port %q: a VLAN tag has a number from 1 to %d, not %d", p.Interface, MaximumVLAN, p.VLAN)
		}
	}
	return nil
}

// InVLAN returns a frame with a tag of priority 0.
func InVLAN(frame []byte, number int) []byte {
	tag := binary.BigEndian.AppendUint16(nil, EtherTypeVLAN)
	tag = binary.BigEndian.AppendUint16(tag, uint16(number))
	return slices.Insert(slices.Clone(frame), TagOffset, tag...)
}
