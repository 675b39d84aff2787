//go:build linux

package tunnel

import (
	"errors"
	"fmt"
	"log/slog"
	"net"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"vnfbench.io/operator/internal/vnf"
)

const (
	aead = "rfc4106(gcm(aes))"
	// tagBits is the length of the authentication tag.
	tagBits = 128
	// window is how far packets may arrive out of order.
	window = 256
	// reqid ties policies to associations.
	reqid = 1
)

const missingIPsec = "the node's kernel may lack ESP or AES-GCM; on the node: modprobe -a xfrm_user esp4 gcm ghash aes seqiv drbg, or use protocol WireGuard"

// ipsec is the kernel's XFRM with preset keys: no key exchange runs, so none
// disturbs a measurement.
type ipsec struct {
	gateway *vnf.Gateway
	keys    string
	log     *slog.Logger
}

func (i *ipsec) Interface() string { return "" }

func (i *ipsec) Apply() error { return nil }

// Prepare sets policies and associations before the ports are up, so that
// nothing leaves the gateway in the clear. It does not change an existing
// association: sequence numbers must never start again with the same key.
func (i *ipsec) Prepare() error {
	i.log.Info("setting IPsec policies", "local", i.gateway.Local.String(), "peer", i.gateway.Peer.String())
	for _, policy := range i.policies() {
		if err := netlink.XfrmPolicyUpdate(&policy); err != nil {
			return fmt.Errorf("setting the IPsec policy of direction %s: %w: %s", policy.Dir, explain(err), missingIPsec)
		}
	}
	for _, direction := range []struct {
		field, file string
		outward     bool
	}{{"out", i.gateway.Keys.Out, true}, {"in", i.gateway.Keys.In, false}} {
		if _, err := i.find(direction.outward); err == nil {
			continue
		}
		key, err := readKey(i.keys, direction.field, direction.file, vnf.IPsecKeyBytes)
		if err != nil {
			return err
		}
		i.log.Info("setting IPsec association", "direction", direction.field, "algorithm", aead)
		if err := i.addAssociation(direction.outward, key); err != nil {
			return fmt.Errorf("setting the IPsec association %q with %s: %w: %s", direction.field, aead, explain(err), missingIPsec)
		}
	}
	return nil
}

func (i *ipsec) addresses(outward bool) (source, destination net.IP, spi int) {
	if outward {
		return i.gateway.Local.AsSlice(), i.gateway.Peer.AsSlice(), int(i.gateway.SPIOut)
	}
	return i.gateway.Peer.AsSlice(), i.gateway.Local.AsSlice(), int(i.gateway.SPIIn)
}

// addAssociation does what netlink's XfrmStateAdd cannot: it makes one association
// for both IP versions inside (XFRM_STATE_AF_UNSPEC).
func (i *ipsec) addAssociation(outward bool, key []byte) error {
	source, destination, spi := i.addresses(outward)
	info := &nl.XfrmUsersaInfo{
		Family: nl.FAMILY_V4, Mode: uint8(netlink.XFRM_MODE_TUNNEL), Reqid: reqid,
		// 32-bit sequence numbers would run out after some hours of small frames.
		Flags: nl.XFRM_STATE_AF_UNSPEC | nl.XFRM_STATE_ESN,
	}
	info.Saddr.FromIP(source)
	info.Id.Daddr.FromIP(destination)
	info.Id.Proto, info.Id.Spi = uint8(netlink.XFRM_PROTO_ESP), nl.Swap32(uint32(spi))
	info.Lft.SoftByteLimit, info.Lft.HardByteLimit = nl.XFRM_INF, nl.XFRM_INF
	info.Lft.SoftPacketLimit, info.Lft.HardPacketLimit = nl.XFRM_INF, nl.XFRM_INF
	algorithm := nl.XfrmAlgoAEAD{AlgKeyLen: uint32(len(key) * 8), AlgICVLen: tagBits, AlgKey: key}
	copy(algorithm.AlgName[:], aead)
	replay := nl.XfrmReplayStateEsn{BmpLen: window / 32, ReplayWindow: window}
	request := nl.NewNetlinkRequest(nl.XFRM_MSG_NEWSA, unix.NLM_F_CREATE|unix.NLM_F_EXCL|unix.NLM_F_ACK)
	request.AddData(info)
	request.AddData(nl.NewRtAttr(nl.XFRMA_ALG_AEAD, algorithm.Serialize()))
	request.AddData(nl.NewRtAttr(nl.XFRMA_REPLAY_ESN_VAL, replay.Serialize()))
	_, err := request.Execute(unix.NETLINK_XFRM, 0)
	return err
}

func (i *ipsec) policies() []netlink.XfrmPolicy {
	var policies []netlink.XfrmPolicy
	for _, local := range i.gateway.LocalNetworks {
		for _, remote := range i.gateway.RemoteNetworks {
			if local.Addr().Is4() != remote.Addr().Is4() {
				continue
			}
			for _, dir := range []netlink.Dir{netlink.XFRM_DIR_OUT, netlink.XFRM_DIR_FWD, netlink.XFRM_DIR_IN} {
				outward := dir == netlink.XFRM_DIR_OUT
				source, destination, _ := i.addresses(outward)
				policy := netlink.XfrmPolicy{
					Src: ipNet(remote), Dst: ipNet(local), Dir: dir,
					Tmpls: []netlink.XfrmPolicyTmpl{{
						Src: source, Dst: destination, Reqid: reqid,
						Proto: netlink.XFRM_PROTO_ESP, Mode: netlink.XFRM_MODE_TUNNEL,
					}},
				}
				if outward {
					policy.Src, policy.Dst = policy.Dst, policy.Src
				}
				policies = append(policies, policy)
			}
		}
	}
	return policies
}

func (i *ipsec) find(outward bool) (*netlink.XfrmState, error) {
	source, destination, spi := i.addresses(outward)
	return netlink.XfrmStateGet(&netlink.XfrmState{
		Src: source, Dst: destination, Spi: spi, Proto: netlink.XFRM_PROTO_ESP,
	})
}

func (i *ipsec) Check() error {
	var problems []error
	for _, policy := range i.policies() {
		if _, err := netlink.XfrmPolicyGet(&policy); err != nil {
			problems = append(problems, fmt.Errorf("the IPsec policy from %s to %s, direction %s, is missing: %w", policy.Src, policy.Dst, policy.Dir, err))
		}
	}
	for name, outward := range map[string]bool{"out": true, "in": false} {
		if _, err := i.find(outward); errors.Is(err, unix.ESRCH) {
			problems = append(problems, fmt.Errorf("the IPsec association %q is missing", name))
		} else if err != nil {
			problems = append(problems, fmt.Errorf("asking for the IPsec association %q: %w", name, err))
		}
	}
	return errors.Join(problems...)
}

func (i *ipsec) Status() vnf.FunctionStatus {
	status := vnf.FunctionStatus{State: vnf.State{EncryptionGateway: &vnf.EncryptionGatewayState{
		Protocol: i.gateway.Protocol, Implementation: vnf.ImplementationKernel, TunnelMTUBytes: int32(i.gateway.TunnelMTUBytes),
	}}}
	out, err := i.find(true)
	var in *netlink.XfrmState
	if err == nil {
		in, err = i.find(false)
	}
	if err != nil {
		status.CountersProblem = fmt.Sprintf("asking for the IPsec associations: %v", err)
		return status
	}
	status.Counters = map[string]int64{
		vnf.CounterEncryptedBytes: int64(out.Statistics.Bytes), vnf.CounterDecryptedBytes: int64(in.Statistics.Bytes),
		vnf.CounterFailedPackets: int64(in.Statistics.Failed) + int64(in.Statistics.Replay) + int64(in.Statistics.ReplayWindow),
	}
	return status
}
