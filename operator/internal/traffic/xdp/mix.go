package xdp

import "vnfbench.io/operator/internal/measure"

// framesOf returns the sizes that a trial sends and their order; one size has no order.
func framesOf(trial measure.Trial) (sizes []int, round []int) {
	if trial.Mix == nil {
		return []int{trial.FrameBytes}, nil
	}
	for _, f := range trial.Mix.Frames {
		sizes = append(sizes, f.FrameBytes)
	}
	return sizes, trial.Mix.Sequence()
}

// putTemplates writes one template for each of the trial's sizes into the programs'
// memory and returns that of the largest, which sets the size of every buffer.
func (d *Driver) putTemplates(direction int, s measure.Stream, trial measure.Trial) (largest template, err error) {
	if trial.Packet != nil {
		return d.putFragments(direction, s, *trial.Packet), nil
	}
	sizes, round := framesOf(trial)
	for n, size := range sizes {
		made, err := newTemplate(s, size)
		if err != nil {
			return template{}, err
		}
		if number := d.config.Path.Ports[direction].VLAN; number != 0 {
			made = made.inVLAN(number)
		}
		d.state.Sizes[direction][n] = trafficFrameSize{Bytes: uint32(len(made.frame)), ChecksumBase: made.checksumBase}
		place := &d.state.Templates[direction][n]
		clear(place[:])
		copy(place[:], made.frame)
		if len(made.frame) > len(largest.frame) {
			largest = made
		}
	}
	for n, size := range round {
		d.state.Rounds[direction][n] = uint8(size)
	}
	d.state.Transmitters[direction].Round = uint32(len(round))
	return largest, nil
}
