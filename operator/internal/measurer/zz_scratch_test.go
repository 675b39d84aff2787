package measurer

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"vnfbench.io/operator/internal/measure"
	"vnfbench.io/operator/internal/traffic/simulated"
	"vnfbench.io/operator/internal/traffic/xdp"
	"vnfbench.io/operator/internal/traffic/xdp/testpath"
)

type real struct{ cal, chain *testpath.Path }

func (r real) Open(ctx context.Context, path measure.Path, _ measure.DriverSettings) (d measure.Driver, err error) {
	p := r.chain
	if path.Ports[0].Interface == "cal0" {
		p = r.cal
	}
	err = testpath.Do(p.Generator, func() error {
		x, e := xdp.Open(ctx, xdp.Config{Path: p.IPv4(measure.Forward, measure.Reverse)})
		if e == nil { d = x }
		return e
	})
	return
}

func TestScratchReal(t *testing.T) {
	_ = simulated.Quiet
	cal, err := testpath.Direct()
	if err != nil { t.Fatal(err) }
	defer cal.Close()
	chain, err := testpath.Routed(true)
	if err != nil { t.Fatal(err) }
	defer chain.Close()
	l := newLab()
	l.chainReady()
	m := l.measurer("a")
	m.Drivers = real{cal, chain}
	m.Log = slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == "time" || a.Key == "level" { return slog.Attr{} }
		return a
	}}))
	err = m.Run(t.Context())
	fmt.Println("ERR", err)
	_, f := l.stored(t)
	text, _ := json.Marshal(f)
	fmt.Println(string(text))
	fmt.Println(l.server.Data()[measure.KeyProgress])
}
