package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/cmd/godwit/internal/described"
	"github.com/godwitmq/godwit/cmd/godwit/internal/screen"
	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka"
	"github.com/godwitmq/godwit/local/kafkalocal"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/snssqs"
)

// onServer points the environment at a new server of AWS.
func onServer(t *testing.T) *localaws.Server {
	t.Helper()
	server, err := localaws.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": endpoint(addr), "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "k",
		"AWS_SECRET_ACCESS_KEY": "s", "KAFKA_BOOTSTRAP_SERVERS": "",
	} {
		t.Setenv(name, value)
	}
	return server
}

// fill sends empty messages to a channel.
func fill(t *testing.T, b godwit.Backend, channel string, n int) {
	t.Helper()
	p, err := godwit.NewProducer(t.Context(), b, channel, nil)
	if err == nil {
		err = errors.Join(p.SendBatch(t.Context(), make([]godwit.Message, n)), p.Close(t.Context()))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// onBrokers points the environment at a new broker of Kafka.
func onBrokers(t *testing.T) { onCluster(t, 1) }

// onCluster points the environment at so many brokers of Kafka.
func onCluster(t *testing.T, brokers int) {
	t.Helper()
	server, err := kafkalocal.NewServer(&kafkalocal.ServerOptions{
		Addr: "127.0.0.1:0", Cluster: []kfake.Opt{kfake.NumBrokers(brokers)},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	for _, name := range []string{"AWS_ENDPOINT_URL", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("KAFKA_BOOTSTRAP_SERVERS", server.Addr())
}

// The command connects to Kafka as the environment says, like programs.
func TestLsWithCredentials(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(), kfake.SeedTopics(1, "orders"),
		kfake.Superuser("SCRAM-SHA-256", "ada", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_PROFILE": "",
		"KAFKA_BOOTSTRAP_SERVERS": cluster.ListenAddrs()[0], "KAFKA_SECURITY_PROTOCOL": "SASL_PLAINTEXT",
		"KAFKA_SASL_MECHANISM": "SCRAM-SHA-256", "KAFKA_SASL_USERNAME": "ada", "KAFKA_SASL_PASSWORD": "secret",
	} {
		t.Setenv(name, value)
	}
	var out, errOut bytes.Buffer
	if status := run(t.Context(), []string{"ls"}, &out, &errOut); status != exitDone ||
		!strings.Contains(out.String(), "orders") {
		t.Errorf("status %d: %s%s", status, &out, &errOut)
	}
	t.Setenv("KAFKA_SASL_MECHANISM", "SCRAM")
	if status := run(t.Context(), []string{"ls"}, &out, &errOut); status != exitFailed ||
		!strings.Contains(errOut.String(), "use PLAIN, SCRAM-SHA-256") {
		t.Errorf("an unknown mechanism: status %d: %s", status, &errOut)
	}
}

// The channels that consumers and producers have created are listed, with what waits in them. Looking twice shows the
// same, because a look creates nothing.
func TestLs(t *testing.T) {
	onServer(t)
	b, err := snssqs.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	fill(t, b, "orders", 3)
	for range 2 {
		var out, errOut bytes.Buffer
		if status := run(t.Context(), []string{"ls", "-o", "json"}, &out, &errOut); status != exitDone {
			t.Fatalf("status %d: %s", status, &errOut)
		}
		var all []described.Listed
		if err := json.Unmarshal(out.Bytes(), &all); err != nil {
			t.Fatal(err)
		}
		if len(all) != 1 || all[0].Channel != "orders" || all[0].Depth.Waiting != 3 || all[0].Created == nil {
			t.Errorf("%s", &out)
		}
	}
	var out, errOut bytes.Buffer
	if status := run(t.Context(), []string{"ls", "o*"}, &out, &errOut); status != exitDone {
		t.Fatalf("status %d: %s", status, &errOut)
	}
	head := "CHANNEL  ROLE   WAITING  IN FLIGHT  DELAYED  OLDEST  NOTES"
	if ls := strings.Split(out.String(), "\n"); !strings.HasPrefix(ls[0], head) || !strings.HasPrefix(ls[1],
		"orders   queue        3          0        0") {
		t.Errorf("%s", &out)
	}
}

// --problems leaves out what is well, --sort puts the worst first, and --watch lists again until it is interrupted.
func TestLsProblems(t *testing.T) {
	if apart(t) {
		return
	}
	onServer(t)
	for _, channel := range []string{"a", "b", "c"} {
		provisioned(t, channel, nil)
	}
	for channel, n := range map[string]string{"a": "1", "b": "3", "c@dlq": "2"} {
		if _, errOut, status := call(t, "send", channel, "x", "-n", n); status != exitDone {
			t.Fatalf("status %d: %s", status, errOut)
		}
	}
	names := func(args ...string) string {
		t.Helper()
		out, errOut, status := call(t, append([]string{"ls", "--no-headers"}, args...)...)
		if status != exitDone {
			t.Fatalf("%s: status %d: %s", args, status, errOut)
		}
		var all []string
		for line := range strings.Lines(out) {
			all = append(all, strings.Fields(line)[0])
		}
		return strings.Join(all, " ")
	}
	if got := names("--problems"); got != "c@dlq" {
		t.Errorf("problems are %s", got)
	}
	if got := names("--sort", "waiting"); got != "b c@dlq a a@dlq b@dlq c" {
		t.Errorf("by waiting messages: %s", got)
	}
	if got := names("--problems", "--tolerance", "1ns", "--sort", "age"); len(strings.Fields(got)) != 3 {
		t.Errorf("with a small tolerance: %s", got)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	out := &twice{then: stop}
	status := run(ctx, []string{"ls", "--watch", "--every", "1s", "--no-headers", "a"}, out, io.Discard)
	if status != exitDone || strings.Count(out.String(), "a  queue") != 2 {
		t.Errorf("status %d: %s", status, out)
	}
	for args, want := range map[string]string{
		"ls --sort size": "--sort is", "ls --no-depths --problems": "--no-depths", "ls --every 1ms": "--every is",
		"ls --watch -o json": "--output jsonl", "ls --tolerance -1s": "--tolerance is",
	} {
		_, errOut, status := call(t, strings.Fields(args)...)
		if status != exitUsage || !strings.Contains(errOut, want) {
			t.Errorf("%s: status %d: %s", args, status, errOut)
		}
	}
}

// sleepers is a backend with two channels of delayed messages, of which nobody receives from one.
type sleepers struct {
	driver.Backend
	asked int // how often metrics were asked
}

func (s *sleepers) Operations() driver.Operations {
	return driver.Operations{
		Catalog: func(context.Context) ([]driver.ChannelInfo, error) {
			old := time.Now().Add(-48 * time.Hour)
			return []driver.ChannelInfo{
				{Channel: driver.Channel{Queue: "bills", Later: true}, Address: "b", Created: old},
				{Channel: driver.Channel{Queue: "orders", Later: true}, Address: "o", Created: old},
			}, nil
		},
		Activity: func(_ context.Context, cs []driver.Channel, _ time.Time) ([]driver.Activity, error) {
			s.asked++
			return []driver.Activity{{Received: driver.Reading[int64]{Value: 1}}, {}}, nil
		},
		Inspect: func(context.Context, driver.Channel) (driver.Depth, error) {
			return driver.Depth{InFlight: 7, Oldest: -1}, nil
		},
	}
}

// Delayed messages that nobody wakes are a problem. --watch asks for them once in some minutes.
func TestLsDelayedMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, o := &sleepers{}, lsOptions{problems: true, noHead: true, sort: byName}
		for range 3 {
			var out bytes.Buffer
			if err := o.run(t.Context(), s, &out); err != nil ||
				!strings.HasPrefix(out.String(), "orders@later") || strings.Contains(out.String(), "bills") ||
				!strings.Contains(out.String(), "nobody has received from it for a day") {
				t.Errorf("%v: %s", err, &out)
			}
			time.Sleep(6 * time.Minute)
		}
		if s.asked != 2 {
			t.Errorf("metrics were asked %d times", s.asked)
		}
		var out bytes.Buffer
		o.output = screen.AsJSONLines
		if err := o.run(t.Context(), s, &out); err != nil || !strings.Contains(out.String(), `"asleep":true`) {
			t.Errorf("%v: %s", err, &out)
		}
		o = lsOptions{noHead: true, sort: byName, list: ops.ListOptions{NoDepths: true}}
		if err := o.run(t.Context(), s, &out); err != nil || s.asked != 2 {
			t.Errorf("without depths, metrics were asked %d times: %v", s.asked, err)
		}
	})
}

// twice is an output that calls a function when a second list has been written.
type twice struct {
	bytes.Buffer
	then func()
}

func (w *twice) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if strings.Count(w.String(), "queue") == 2 {
		w.then()
	}
	return n, err
}

// The environment names the backend; if it names two, or none, the error says what to set.
func TestWhichBackend(t *testing.T) {
	for name, c := range map[string]struct {
		flag string
		env  map[string]string
		want string // the backend, or a part of the error
	}{
		"aws":      {env: map[string]string{"AWS_REGION": "eu-west-1"}, want: onAWS},
		"kafka":    {env: map[string]string{"KAFKA_BOOTSTRAP_SERVERS": "k:9092"}, want: onKafka},
		"the flag": {flag: onKafka, env: map[string]string{"AWS_REGION": "eu-west-1"}, want: onKafka},
		"both": {
			env: map[string]string{"AWS_PROFILE": "p", "KAFKA_BOOTSTRAP_SERVERS": "k:9092"}, want: "--backend",
		},
		"both, and a variable": {
			env: map[string]string{
				"AWS_PROFILE": "p", "KAFKA_BOOTSTRAP_SERVERS": "k:9092", "GODWIT_BACKEND": "kafka",
			}, want: onKafka,
		},
		"a variable and the flag": {
			flag: onAWS, env: map[string]string{"AWS_PROFILE": "p", "GODWIT_BACKEND": "kafka"}, want: onAWS,
		},
		"a wrong variable": {env: map[string]string{"GODWIT_BACKEND": "rabbit"}, want: `GODWIT_BACKEND is "rabbit"`},
		"neither":          {want: "set AWS_REGION"},
		"a third":          {flag: "rabbit", want: `"rabbit"`},
		"a local server":   {env: map[string]string{"AWS_ENDPOINT_URL": "http://127.0.0.1:4566"}, want: onAWS},
	} {
		b := backendFlags{name: c.flag}
		got, err := b.choose(func(name string) string { return c.env[name] })
		if err == nil && got != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
}

// On Kafka, topics and groups are listed.
func TestLsOnKafka(t *testing.T) {
	onBrokers(t)
	b, err := kafka.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close(context.Background()) }()
	fill(t, b, "orders", 3)
	var out, errOut bytes.Buffer
	if status := run(t.Context(), []string{"ls", "-o", "jsonl"}, &out, &errOut); status != exitDone {
		t.Fatalf("status %d: %s", status, &errOut)
	}
	var one described.Listed
	if err := json.Unmarshal(out.Bytes(), &one); err != nil || one.Channel != "orders" || one.Depth.Waiting != 3 {
		t.Errorf("%v: %s", err, &out)
	}
}
