package astf

import (
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/frames"
	"vnfbench.io/operator/internal/traffic/trex/connection"
)

// ends returns the direction's sender and receiver.
func ends(direction measure.Direction, at look) (sender, receiver counts) {
	if direction == measure.Reverse {
		return at.server, at.client
	}
	return at.client, at.server
}

// tcpDirection returns what one direction carried between two readings; the readings
// between them are the intervals' borders. Payload is what TCP sent for the first time,
// and what arrived in order.
func tcpDirection(direction measure.Direction, looks []look, cpuPercent float64, tcp measure.TCPTrial) measure.TCPDirectionOutcome {
	first, last := looks[0], looks[len(looks)-1]
	sentFirst, receivedFirst := ends(direction, first)
	sentLast, receivedLast := ends(direction, last)
	// 100 % is all of the sending threads; the share of one CPU is not known.
	share := int64(cpuPercent * 10_000)
	out := measure.TCPDirectionOutcome{
		Direction:           direction,
		SentBytes:           sentLast.of(cSentBytes) - sentFirst.of(cSentBytes),
		SentNanoseconds:     sentLast.nanoseconds() - sentFirst.nanoseconds(),
		ReceivedBytes:       receivedLast.of(cReceivedBytes) - receivedFirst.of(cReceivedBytes),
		ReceivedNanoseconds: receivedLast.nanoseconds() - receivedFirst.nanoseconds(),
		Retransmits:         sentLast.of(cRetransmits) - sentFirst.of(cRetransmits),

		SenderCPUPartsPerMillion: share, ReceiverCPUPartsPerMillion: share,
		MaximumSegmentBytes: tcp.MSSBytes, CongestionControl: congestionName(tcp.CongestionControl),
	}
	for i := 1; i < len(looks); i++ {
		before, _ := ends(direction, looks[i-1])
		now, _ := ends(direction, looks[i])
		out.Intervals = append(out.Intervals, measure.TCPInterval{
			StartNanoseconds: before.nanoseconds() - sentFirst.nanoseconds(),
			Nanoseconds:      now.nanoseconds() - before.nanoseconds(),
			Bytes:            now.of(cSentBytes) - before.of(cSentBytes),
			Retransmits:      now.of(cRetransmits) - before.of(cRetransmits),
		})
	}
	return out
}

// connectionLooks are the readings of a trial of connections: when counting begins and
// ends, and after everything has ended.
type connectionLooks struct {
	begin, end, over look
	// concurrent is the maximum of all readings.
	concurrent int64
}

func connectionsOutcome(l connectionLooks, held bool) measure.ConnectionsOutcome {
	begin, end, over := l.begin.client, l.end.client, l.over.client
	out := measure.ConnectionsOutcome{
		CountedNanoseconds: end.nanoseconds() - begin.nanoseconds(),
		CountedAttempts:    end.of(cAttempts) - begin.of(cAttempts),
		CountedEstablished: end.of(cEstablished) - begin.of(cEstablished),
		ForwardBytes:       l.end.server.of(cReceivedBytes) - l.begin.server.of(cReceivedBytes),
		ReverseBytes:       end.of(cReceivedBytes) - begin.of(cReceivedBytes),
		Attempts:           over.of(cAttempts),
		Established:        over.of(cEstablished),
		Unfinished:         over.of(cTestDrops),
		Concurrent:         l.concurrent,
		Retransmits: over.of(cRetransmits) + over.of(cSYNTimeouts) +
			l.over.server.of(cRetransmits) + l.over.server.of(cSYNTimeouts),
	}
	// A connection that is given up counts among the drops too.
	dropped := over.of(cDrops) + over.of(cEmbryonicDrops)
	out.TimedOut = min(dropped, over.of(cTimeoutDrops)+over.of(cKeepDrops)+over.of(cPersistDrops))
	out.Reset = dropped - out.TimedOut
	out.Completed = max(0, over.of(cClosed)-dropped-out.Unfinished)
	if held {
		out.HeldAtEnd = end.of(cEstablishedNow)
	}
	return out
}

// doubtsOf returns what the generator itself lost or could not do.
func doubtsOf(losses connection.Losses, over look) []measure.Doubt {
	var all frames.Doubts
	add := func(code, detail string, n uint64) {
		if n > 0 {
			all.Add(code, true, detail, n)
		}
	}
	for i, name := range []string{measure.EndWest, measure.EndEast} {
		// What a port drops before TRex sees it looks like the device's loss, and makes
		// TCP send again and slow down.
		add(measure.DoubtReceiveDrops, "port "+name+" dropped %d packets before TRex took them", losses.Ports[i].InErrors)
		add(measure.DoubtTransmitDrops, "port "+name+" could not send %d packets", losses.Ports[i].OutErrors)
	}
	client := func(name string) uint64 { return uint64(over.client.of(name)) }
	both := func(name string) uint64 { return client(name) + uint64(over.server.of(name)) }
	add(measure.DoubtTransmitDrops, "TRex dropped %d packets before its ports took them", losses.Global.QueueDrop)
	add(measure.DoubtTransmitDrops, "TRex had no buffer for %d packets", both(cNoBuffer))
	add(measure.DoubtUnsent, "TRex had no memory for %d connections", both(cNoMemory))
	add(measure.DoubtUnsent, "TRex had no address and port left for %d connections", client(cNoAddress))
	add(measure.DoubtUnsent, "TRex opened no connection %d times because it had too many", client(cThrottled)+client(cOverflow))
	return all
}
