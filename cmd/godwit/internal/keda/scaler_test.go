package keda_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/godwitmq/godwit/cmd/godwit/internal/externalscaler"
	"github.com/godwitmq/godwit/cmd/godwit/internal/keda"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/ops"
)

// asked is a scaler that is asked as KEDA asks it.
type asked struct {
	*testing.T
	*local.Backend
	externalscaler.ExternalScalerClient
	ctx context.Context
}

// ask serves the channel orders, in virtual time.
func ask(t *testing.T, o ops.DemandOptions, f func(a *asked)) {
	synctest.Test(t, func(t *testing.T) {
		b, err := local.Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		l := bufconn.Listen(1 << 16)
		ended := make(chan error)
		go func() { ended <- keda.Serve(ctx, l, keda.New(b, o)) }()
		conn, err := grpc.NewClient("passthrough:keda", grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))
		if err != nil {
			t.Fatal(err)
		}
		a := &asked{t, b, externalscaler.NewExternalScalerClient(conn), ctx}
		spec := driver.ChannelSpec{Channel: driver.Channel{Queue: "orders"}, Owner: true, MaxReceives: 30}
		if err := b.Ensure(ctx, spec); err != nil {
			t.Fatal(err)
		}
		f(a)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = conn.Close()
		_ = b.Close(t.Context())
	})
}

func (a *asked) put(n int) {
	a.Helper()
	s, err := a.Sender(a.ctx, driver.Channel{Queue: "orders"})
	if err != nil {
		a.Fatal(err)
	}
	for range n {
		p, err := s.Prepare(a.ctx, &driver.Message{Body: []byte("a kite")})
		if err == nil {
			err = s.Send(a.ctx, []driver.Prepared{p})
		}
		if err != nil {
			a.Fatal(err)
		}
	}
	if err := s.Close(a.ctx); err != nil {
		a.Fatal(err)
	}
}

// object is a ScaledObject whose trigger has this metadata, as pairs.
func object(pairs ...string) *externalscaler.ScaledObjectRef {
	r := &externalscaler.ScaledObjectRef{
		Name: "orders", Namespace: "shop", ScalerMetadata: map[string]string{"scalerAddress": "godwit:8082"},
	}
	for i := 0; i < len(pairs); i += 2 {
		r.ScalerMetadata[pairs[i]] = pairs[i+1]
	}
	return r
}

// consumers asks for the metric as KEDA does: its name first, then its value.
func (a *asked) consumers(r *externalscaler.ScaledObjectRef) float64 {
	a.Helper()
	spec, err := a.GetMetricSpec(a.ctx, r)
	if err != nil || len(spec.MetricSpecs) != 1 || spec.MetricSpecs[0].TargetSizeFloat != 1 {
		a.Fatalf("%v, %v", spec, err)
	}
	name := spec.MetricSpecs[0].MetricName
	got, err := a.GetMetrics(a.ctx, &externalscaler.GetMetricsRequest{ScaledObjectRef: r, MetricName: name})
	if err != nil || len(got.MetricValues) != 1 || got.MetricValues[0].MetricName != name ||
		float64(got.MetricValues[0].MetricValue) != got.MetricValues[0].MetricValueFloat {
		a.Fatalf("%v, %v", got, err)
	}
	return got.MetricValues[0].MetricValueFloat
}

// The number is that of `godwit demand`; the metadata of a trigger replaces the scaler's options.
func TestScaler(t *testing.T) {
	ask(t, ops.DemandOptions{ServiceTime: time.Second, Tolerance: time.Minute, Workers: 10}, func(a *asked) {
		orders := object("channel", "orders")
		if on, err := a.IsActive(a.ctx, orders); err != nil || on.Result || a.consumers(orders) != 0 {
			t.Errorf("nothing waits, and it is active: %v, %v", on, err)
		}
		a.put(1200) // 1,200 s of work within 60 s: 20 workers
		if on, err := a.IsActive(a.ctx, orders); err != nil || !on.Result {
			t.Errorf("1,200 messages wait, and it is not active: %v, %v", on, err)
		}
		if n := a.consumers(orders); n != 2 {
			t.Errorf("%v processes, want 2", n)
		}
		own := object("channel", "orders", "serviceTime", "2s", "tolerance", "30s", "workers", "4", "most", "12")
		if n := a.consumers(own); n != 12 { // 80 workers, 20 processes
			t.Errorf("%v processes with the trigger's own numbers, want 12", n)
		}
	})
}

// A stream says at once whether a channel is active, and then each change, also after a time in which the service could
// not be asked. It ends with the server.
func TestScalerStreams(t *testing.T) {
	ask(t, ops.DemandOptions{}, func(a *asked) {
		stream, err := a.StreamIsActive(a.ctx, object("channel", "orders"))
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		for i, want := range []bool{false, true} {
			got, err := stream.Recv()
			if err != nil || got.Result != want || time.Since(begun) > 25*time.Second {
				t.Fatalf("%d: %v, %v after %v, want %v", i, got, err, time.Since(begun), want)
			}
			if i == 0 {
				a.put(1)
			}
		}
	})
}

// A trigger without a channel, with metadata that is not known or makes no sense, and a channel that does not exist or
// has no consumers, are errors that say so.
func TestScalerRefuses(t *testing.T) {
	ask(t, ops.DemandOptions{}, func(a *asked) {
		for _, c := range []struct {
			object *externalscaler.ScaledObjectRef
			code   codes.Code
			text   string
		}{
			{object(), codes.InvalidArgument, "has no channel"},
			{object("channel", "order"), codes.NotFound, "order"},
			{object("channel", "orders@dlq"), codes.InvalidArgument, "no consumers"},
			{object("channel", "orders", "worker", "4"), codes.InvalidArgument, "worker, which is none of channel"},
			{object("channel", "orders", "workers", "four"), codes.InvalidArgument, `workers is "four"`},
			{object("channel", "orders", "most", "-1"), codes.InvalidArgument, "negative"},
		} {
			_, err := a.IsActive(a.ctx, c.object)
			if status.Code(err) != c.code || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v: %v, want %v with %q", c.object.ScalerMetadata, err, c.code, c.text)
			}
		}
	})
}
