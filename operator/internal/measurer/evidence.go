package measurer

import (
	"context"

	"vnfbench.io/operator/internal/evidence"
	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/procedure"
)

// startEvidence reads which addresses it may ask about trials on the chain's path, and what
// the chain's node is. No figure depends on it.
func (m *Measurer) startEvidence(ctx context.Context) error {
	sources := m.store.Sources()
	if sources.Observer == "" && len(sources.Functions)+len(sources.Neighbors) == 0 {
		return nil
	}
	m.evidence = evidence.New(sources, m.AgentToken)
	m.evidenceBytes = 0
	for _, record := range m.store.Records() {
		m.evidenceBytes += evidence.Bytes(record.Evidence)
	}
	device := m.evidence.Device(ctx)
	m.Log.Info("observing the chain", "observer", sources.Observer, "functions", len(sources.Functions),
		"answered", len(device.Functions), "domains", len(device.Domains), "problems", device.Problems)
	return m.store.SetDevice(device)
}

// stopEvidence closes the connections to the chain.
func (m *Measurer) stopEvidence() {
	if m.evidence != nil {
		m.evidence.Close()
		m.evidence = nil
	}
}

// beginEvidence reads the chain's counters before a trial and after its last frame. The function
// that it returns makes the evidence after the trial, or nil.
func (m *Measurer) beginEvidence(ctx context.Context, step procedure.Step) func(measure.Outcome) *measure.Evidence {
	room := procedure.EvidenceRoom(m.Instructions, m.evidenceBytes)
	if m.evidence == nil || step.Path == procedure.PathCalibration || !procedure.WantsEvidence(step.Stage) || room <= 0 {
		return func(measure.Outcome) *measure.Evidence { return nil }
	}
	collector := m.evidence
	collector.SetNeighbors(step.Neighbors)
	before := collector.Before(ctx)
	after := make(chan evidence.Reading, 1)
	notifier, notifies := m.driver.(measure.Notifier)
	sent := false
	if notifies {
		notifier.NotifySent(func() {
			sent = true
			// The trial settles in the meantime.
			go func() { after <- collector.After(ctx, step.Trial.Settle()) }()
		})
	}
	return func(outcome measure.Outcome) *measure.Evidence {
		if notifies {
			notifier.NotifySent(nil)
		}
		if !sent {
			after <- collector.After(ctx, 0)
		}
		found := evidence.Truncate(collector.Between(before, <-after, outcome.SendingTime(step.Trial)), room)
		m.evidenceBytes += evidence.Bytes(found)
		return found
	}
}
