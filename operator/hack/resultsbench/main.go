// Command resultsbench shows how fast the results service answers with 100, 1,000 and 10,000 documents, and how its index grows. It makes the
// documents from a seed, as variants of runs on simulated devices, and executions of suites that have the runs. It fails where a query of the index
// takes longer than the limit.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/go-logr/logr"

	"vnfbench.io/operator/internal/results/index"
	"vnfbench.io/operator/internal/results/web"
)

func main() {
	counts := flag.String("documents", "100,1000,10000", "how many documents of runs, one column each")
	seed := flag.Uint64("seed", 1, "the seed of the documents")
	requests := flag.Int("requests", 200, "how often each query is asked")
	limit := flag.Duration("limit", 50*time.Millisecond, "the most that the 99th percentile of a query of the index may take")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	missed, err := run(ctx, *counts, *seed, *requests, *limit)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "resultsbench:", err)
		os.Exit(2)
	}
	if len(missed) > 0 {
		fmt.Printf("\nMISSED: slower than %s: %s\n", *limit, strings.Join(missed, ", "))
		os.Exit(1)
	}
	fmt.Printf("\nEvery query of the index took less than %s.\n", *limit)
}

// result is what was measured with some documents.
type result struct {
	documents, files          int
	archiveBytes, indexBytes  int64
	indexing, again           time.Duration
	indexingHeap, processPeak int64
	queries                   []timed
}

// run measures with each number of documents, prints the table, and returns which queries were too slow.
func run(ctx context.Context, counts string, seed uint64, requests int, limit time.Duration) (missed []string, err error) {
	var results []result
	for text := range strings.SplitSeq(counts, ",") {
		documents, err := strconv.Atoi(text)
		if err != nil || documents < 1 {
			return nil, fmt.Errorf("-documents has %q: give numbers above 0", text)
		}
		r, err := measure(ctx, documents, seed, requests)
		if err != nil {
			return nil, fmt.Errorf("with %d documents: %w", documents, err)
		}
		results = append(results, r)
	}
	print(results)
	for _, r := range results {
		for _, q := range r.queries {
			if q.ofIndex && q.p99 > limit {
				missed = append(missed, fmt.Sprintf("%s with %d documents (%s)", q.name, r.documents, short(q.p99)))
			}
		}
	}
	return missed, nil
}

// measure makes documents, indexes them, and asks each query.
func measure(ctx context.Context, documents int, seed uint64, requests int) (r result, err error) {
	folder, err := os.MkdirTemp("", "resultsbench-")
	if err != nil {
		return r, err
	}
	defer func() {
		if removed := os.RemoveAll(folder); err == nil {
			err = removed
		}
	}()
	fmt.Fprintf(os.Stderr, "making %d documents\n", documents)
	made, err := write(ctx, filepath.Join(folder, "archive"), documents, seed)
	if err != nil {
		return r, err
	}
	r.documents, r.files, r.archiveBytes = documents, made.files, made.bytes
	archive := index.Files{FS: os.DirFS(filepath.Join(folder, "archive"))}
	path := filepath.Join(folder, "index")
	x, err := index.Open(ctx, path, 0, logr.Discard())
	if err != nil {
		return r, err
	}
	defer func() { _ = x.Close() }()
	heap := &peak{}
	heap.begin()
	if r.indexing, err = follow(ctx, x, archive); err != nil {
		return r, err
	}
	r.indexingHeap = heap.end()
	for _, name := range []string{path, path + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			r.indexBytes += info.Size()
		}
	}
	if damaged, err := x.Damaged(ctx, index.Scope{All: true}, "", 1); err != nil || damaged.Total > 0 {
		return r, fmt.Errorf("%d documents are damaged: %+v, %w", damaged.Total, damaged.Items, err)
	}
	if r.again, err = follow(ctx, x, archive); err != nil {
		return r, err
	}
	handler := web.NewHandler(web.Options{Index: x, Archive: archive, Access: tenant(made.namespaces), Log: logr.Discard(), Version: "bench"})
	if r.queries, err = ask(ctx, handler, made, requests); err != nil {
		return r, err
	}
	r.processPeak = residentPeak()
	return r, nil
}

// follow lets the index follow the archive until everything is indexed, and returns how long that took.
func follow(ctx context.Context, x *index.Index, archive index.Archive) (time.Duration, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	begin, done := time.Now(), make(chan error, 1)
	go func() { done <- x.Follow(ctx, archive, time.Hour) }()
	for x.Status().Listed.Before(begin) || x.Status().Pending > 0 {
		select {
		case err := <-done:
			return 0, err
		case <-time.After(5 * time.Millisecond):
		}
	}
	took := time.Since(begin)
	stop()
	return took, <-done
}

// peak is the largest heap that samples saw.
type peak struct {
	stop chan struct{}
	most chan uint64
}

func (p *peak) begin() {
	p.stop, p.most = make(chan struct{}), make(chan uint64)
	go func() {
		most := uint64(0)
		for {
			select {
			case <-p.stop:
				p.most <- most
				return
			case <-time.After(100 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapInuse)
			}
		}
	}()
}

func (p *peak) end() int64 {
	close(p.stop)
	return int64(<-p.most)
}

// residentPeak returns the most memory that the process has had, with SQLite's own; 0 where it is not known.
func residentPeak() int64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return usage.Maxrss << 10
}

// print prints a column for each number of documents.
func print(results []result) {
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, value func(result) string) {
		fmt.Fprint(table, name, "\t")
		for _, r := range results {
			fmt.Fprint(table, value(r), "\t")
		}
		if n := len(results); n > 1 {
			fmt.Fprint(table, growth(results[0], results[n-1], value))
		}
		fmt.Fprintln(table, "\t")
	}
	row("documents of runs", func(r result) string { return strconv.Itoa(r.documents) })
	row("files with executions", func(r result) string { return strconv.Itoa(r.files) })
	row("archive, MiB", func(r result) string { return mebibytes(r.archiveBytes) })
	row("index, MiB", func(r result) string { return mebibytes(r.indexBytes) })
	row("index from nothing, s", func(r result) string { return fmt.Sprintf("%.2f", r.indexing.Seconds()) })
	row("listing without changes, ms", func(r result) string { return short(r.again) })
	row("largest heap while indexing, MiB", func(r result) string { return mebibytes(r.indexingHeap) })
	row("largest process so far, MiB", func(r result) string { return mebibytes(r.processPeak) })
	for i, q := range results[0].queries {
		row(q.name+", p50 ms", func(r result) string { return short(r.queries[i].p50) })
		row(q.name+", p99 ms", func(r result) string { return short(r.queries[i].p99) })
	}
	_ = table.Flush()
}

// growth says by which power of the documents a value grows: 0 not at all, 1 in proportion.
func growth(first, last result, value func(result) string) string {
	a, errA := strconv.ParseFloat(value(first), 64)
	b, errB := strconv.ParseFloat(value(last), 64)
	if errA != nil || errB != nil || a <= 0 || b <= 0 || last.documents == first.documents {
		return ""
	}
	return fmt.Sprintf("n^%.2f", math.Log(b/a)/math.Log(float64(last.documents)/float64(first.documents)))
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f", float64(n)/(1<<20)) }

func short(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d.Microseconds())/1e3) }
