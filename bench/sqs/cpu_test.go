//go:build unix

package sqs

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/godwitmq/godwit/localaws"
)

var (
	cpuRun      = flag.Bool("sqs.cpu", false, "measure the CPU of senders")
	cpuRounds   = flag.Int("sqs.rounds", 3, "how often each contender's CPU is measured, in turn")
	cpuMessages = flag.Int("sqs.messages", 20000, "how many messages each contender sends in a measurement of CPU")
	cpuOf       = flag.String("sqs.of", "", "an expression for the contenders that are compared with the loops; empty: all of them")
)

// cpuLatency is how long the server of the CPU measurements takes to answer, so that goroutines wait for answers as
// they do for a remote service.
var cpuLatency = flag.Duration("sqs.latency", 5*time.Millisecond, "how long the server takes in a measurement of CPU")

// cpuFigure is the cost of one message in the process that sends or consumes it.
type cpuFigure struct {
	contender string
	cpu       time.Duration
	share     float64 // of the CPU of the contender that it is compared with, in the same round
	allocs    float64
	bytes     float64
}

// measureCPU measures the contenders in turn, and returns the median of each. Each figure's share is the median of the
// rounds' shares.
func measureCPU(t *testing.T, contenders []cpuContender, rounds, messages int) []cpuFigure {
	addr, stop := serveElsewhere(t)
	defer stop()
	runs := make([][]cpuFigure, len(contenders))
	for range rounds {
		for i, c := range contenders {
			runs[i] = append(runs[i], c.measure(t, "http://"+addr, messages))
		}
	}
	out := make([]cpuFigure, len(contenders))
	for i, c := range contenders {
		shares := make([]float64, rounds)
		for k := range shares {
			shares[k] = float64(runs[i][k].cpu) / float64(runs[c.beside][k].cpu)
		}
		slices.Sort(shares)
		of := slices.SortedFunc(slices.Values(runs[i]), func(a, b cpuFigure) int { return int(a.cpu - b.cpu) })
		out[i] = of[rounds/2]
		out[i].share = shares[rounds/2]
	}
	return out
}

// cpuContender sends messages over the network, or consumes them.
type cpuContender struct {
	name    string
	loops   int // goroutines that send, or workers
	beside  int // index of the contender that it is compared with: the loop with as many requests in flight
	send    *publishing
	consume *consuming // nil: the contender sends
}

func (c *cpuContender) measure(t *testing.T, endpoint string, n int) cpuFigure {
	cl := newCloud(t, endpoint, nil)
	var work func()
	if c.consume == nil {
		cl.createQueue(t, "sent")
		p := c.send.open(t, cl, "sent", false)
		defer p.close(t)
		c.sending(t, p, 1000) // to open connections
		work = func() { c.sending(t, p, n) }
	} else {
		cl.createQueue(t, "handled")
		cl.fill(t, "handled", n+4000, 0) // a canceled poll leaves some messages invisible
		work = func() { c.consuming(t, cl, n) }
		c.consuming(t, cl, 1000)
	}
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu := ownCPU()
	work()
	cpu = ownCPU() - cpu
	runtime.ReadMemStats(&after)
	return cpuFigure{
		contender: c.name, cpu: time.Duration(float64(cpu) / float64(n)),
		allocs: float64(after.Mallocs-before.Mallocs) / float64(n),
		bytes:  float64(after.TotalAlloc-before.TotalAlloc) / float64(n),
	}
}

func (c *cpuContender) sending(t *testing.T, p publisher, n int) {
	var left atomic.Int64
	left.Store(int64(n))
	ms := make([]message, c.send.batch)
	for i := range ms {
		ms[i].body = filler
	}
	var wg sync.WaitGroup
	for range c.loops {
		wg.Go(func() {
			for left.Add(-int64(len(ms))) >= 0 {
				if err := p.send(t.Context(), ms...); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// consuming handles n messages of the backlog, and a few more that are in flight when it stops.
func (c *cpuContender) consuming(t *testing.T, cl *cloud, n int) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var handled atomic.Int64
	c.consume.run(ctx, t, cl, "handled", c.loops, func(string) {
		if handled.Add(1) == int64(n) {
			stop()
		}
	})
}

// ownCPU is the CPU time that this process has used.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

const serverEnv = "GODWIT_BENCH_SQS_SERVER"

// serveElsewhere starts this test binary as a server in another process. stop ends it.
func serveElsewhere(t *testing.T) (addr string, stop func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run", "^TestServe$", "-sqs.latency", cpuLatency.String())
	cmd.Env = append(os.Environ(), serverEnv+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		t.Fatal("the server printed no address")
	}
	return lines.Text(), func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}

// TestServe runs in that process: it is a server that answers late, until its standard input ends.
func TestServe(t *testing.T) {
	if os.Getenv(serverEnv) == "" {
		t.Skip("the server process of the CPU measurements")
	}
	server, err := localaws.New(&localaws.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	server.Control("sqs.*", func(_ context.Context, r *localaws.Request) localaws.Outcome {
		return localaws.Outcome{DelayAfter: *cpuLatency}
	})
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(socket.Addr())
	h := &http.Server{Handler: server.Handler()}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = h.Close()
	}()
	if err := h.Serve(socket); err != http.ErrServerClosed {
		t.Fatal(err)
	}
}

// loopsCPU is the number of the loops with which the other senders are compared; they are the first of sendingCPU.
const loopsCPU = 2

// sendingCPU and consumingCPU are the contenders of the CPU measurements.
var (
	sendingCPU = []cpuContender{
		{name: "hand-batched loop, 2", loops: 2, send: &byHand},
		{name: "hand-batched loop, 7", loops: 7, send: &byHand},
		{name: "Godwit, SendBatch, 2", loops: 2, send: &byBatches},
		{name: "Godwit, SendBatch, 7", loops: 7, send: &byBatches, beside: 1},
		{name: "Godwit, 16", loops: 16, send: &byGodwit},
		{name: "Godwit, 64", loops: 64, send: &byGodwit, beside: 1},
		{name: "gocloud, 64", loops: 64, send: &byGoCloud, beside: 1},
		{name: "watermill's pattern, 64", loops: 64, send: &byWatermill, beside: 1},
	}
	consumingCPU = []cpuContender{
		{name: "hand-batched loop", loops: 64, consume: &fromHand},
		{name: "gocloud", loops: 64, consume: &fromGoCloud},
		{name: "Godwit", loops: 64, consume: &fromGodwit},
	}
)

// TestCPU measures the CPU of senders only, for work on the sending side. TestReport measures all.
func TestCPU(t *testing.T) {
	if !*cpuRun {
		t.Skip("-sqs.cpu is not set")
	}
	of := regexp.MustCompile(*cpuOf)
	contenders := slices.Clone(sendingCPU[:loopsCPU])
	for _, c := range sendingCPU[loopsCPU:] {
		if of.MatchString(c.name) {
			contenders = append(contenders, c)
		}
	}
	for _, f := range measureCPU(t, contenders, *cpuRounds, *cpuMessages) {
		t.Logf("%-26s %6.1f µs %6.2f  %6.1f allocs  %7.0f B", f.contender, float64(f.cpu)/1e3, f.share, f.allocs,
			f.bytes)
	}
}
