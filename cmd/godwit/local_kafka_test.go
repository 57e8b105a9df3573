package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// actAsCommand is the environment variable that makes the test binary act as the command.
const actAsCommand = "GODWIT_TEST_ACT_AS_COMMAND"

func TestMain(m *testing.M) {
	hanging()
	if os.Getenv(actAsCommand) != "" {
		main()
	}
	os.Exit(runTests(m))
}

// served starts the test binary as `godwit local` with these arguments, in a process of its own, and returns it with
// the address of its Kafka.
func served(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"local", "--addr", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), actAsCommand+"=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // unless it has ended
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if addr, ok := strings.CutPrefix(lines.Text(), "export KAFKA_BOOTSTRAP_SERVERS="); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return cmd, addr
		}
	}
	t.Fatal("no address was printed")
	return nil, ""
}

// A terminated server ends with status 0; its data in a folder are there when it starts again.
func TestLocalKafkaStopsCleanly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kafka")
	cmd, addr := served(t, "--kafka", ":0", "--kafka-data", dir)
	if !strings.HasPrefix(addr, "127.0.0.1:") {
		t.Errorf("it listens on %s, want loopback", addr)
	}
	createTopic(t, addr)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	_, addr = served(t, "--kafka", "127.0.0.1:0", "--kafka-data", dir)
	topics, err := kadm.NewClient(kafkaClient(t, addr)).ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !topics.Has(topicOfTest) {
		t.Error("the topic is missing")
	}
}

// A server that is killed during writes has every record that it acknowledged, and every commit.
func TestLocalKafkaKilledLosesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kafka")
	cmd, addr := served(t, "--kafka", "127.0.0.1:0", "--kafka-data", dir)
	createTopic(t, addr)
	acknowledged, committed := killWhileWriting(t, cmd, addr)
	if acknowledged < 1000 || committed == 0 {
		t.Fatalf("only %d records and a commit of %d before the kill", acknowledged, committed)
	}

	_, addr = served(t, "--kafka", addr, "--kafka-data", dir)
	c := kafkaClient(t, addr, kgo.ConsumeTopics(topicOfTest), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	seen := map[string]bool{}
	for missing := acknowledged; missing > 0 && ctx.Err() == nil; {
		c.PollFetches(ctx).EachRecord(func(r *kgo.Record) { seen[string(r.Value)] = true })
		missing = 0
		for i := range acknowledged {
			if !seen[strconv.Itoa(i)] {
				missing++
			}
		}
	}
	if ctx.Err() != nil {
		t.Errorf("%d of %d acknowledged records are lost", acknowledged-len(seen), acknowledged)
	}
	offsets, err := kadm.NewClient(c).FetchOffsets(t.Context(), topicOfTest)
	if err != nil {
		t.Fatal(err)
	}
	if o, _ := offsets.Lookup(topicOfTest, 0); o.At < committed {
		t.Errorf("the commit is %d, %d was acknowledged", o.At, committed)
	}
}

// killWhileWriting writes and commits until the server is killed, and returns the number of acknowledged records and
// the last acknowledged commit. Records are numbered in the order of their acknowledgement.
func killWhileWriting(t *testing.T, cmd *exec.Cmd, addr string) (acknowledged int, committed int64) {
	c := kafkaClient(t, addr, kgo.RecordRetries(0), kgo.RequestRetries(0), kgo.DisableIdempotentWrite())
	adm := kadm.NewClient(c)
	for n := 0; ; n++ {
		err := c.ProduceSync(t.Context(), &kgo.Record{Topic: topicOfTest, Value: []byte(strconv.Itoa(n))}).FirstErr()
		if err != nil {
			return n, committed
		}
		if n%10 == 9 {
			offsets := kadm.Offsets{}
			offsets.Add(kadm.Offset{Topic: topicOfTest, Partition: 0, At: int64(n), LeaderEpoch: -1})
			answers, err := adm.CommitOffsets(t.Context(), topicOfTest, offsets)
			if errors.Join(err, answers.Error()) != nil {
				return n + 1, committed
			}
			committed = int64(n)
		}
		if n == 1500 { // the process ends during the following writes
			go func() { _ = cmd.Process.Signal(syscall.SIGKILL) }()
		}
	}
}

// Invalid options are refused before anything is served.
func TestLocalKafkaWrongOptions(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--kafka-data", "x"}, "needs --kafka"},
		{[]string{"--kafka", "here"}, "not of the form host:port"},
		{[]string{"--kafka", "0.0.0.0:9092"}, "name one address of this machine"},
	} {
		var out, errOut bytes.Buffer
		status := run(t.Context(), append([]string{"local", "--addr", "127.0.0.1:0"}, c.args...), &out, &errOut)
		if status != exitUsage || !strings.Contains(errOut.String(), c.want) || out.Len() > 0 {
			t.Errorf("%v: status %d, printed %q, errors %q; want status %d and %q", c.args, status, &out, &errOut,
				exitUsage, c.want)
		}
	}
}

// A port that is in use ends the command with a hint, and without output that points clients at it.
func TestLocalKafkaPortTaken(t *testing.T) {
	_, addr := served(t, "--kafka", ":0")
	var out, errOut bytes.Buffer
	status := run(t.Context(), []string{"local", "--addr", "127.0.0.1:0", "--kafka", addr}, &out, &errOut)
	if status != exitFailed || !strings.Contains(errOut.String(), "--kafka :0 chooses a free port") ||
		out.Len() > 0 {
		t.Errorf("status %d, printed %q, errors %q", status, &out, &errOut)
	}
}

// The seed file has topics of Kafka, too; a wrong one is an error that names it.
func TestLocalKafkaSeed(t *testing.T) {
	seed := func(text string) string {
		path := filepath.Join(t.TempDir(), "seed.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	_, addr := served(t, "--kafka", ":0", "--seed",
		seed(`{"queues": [{"name": "q"}], "kafka": [{"name": "orders", "partitions": 3}]}`))
	topics, err := kadm.NewClient(kafkaClient(t, addr)).ListTopics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(topics[topicOfTest].Partitions); n != 3 {
		t.Errorf("%d partitions", n)
	}
	for text, want := range map[string]string{
		`{"kafka": [{"nmae": "a"}]}`:                   `seed.json: kafka[0]: json: unknown field "nmae"`,
		`{"kafka": [{"name": "a", "partitions": -1}]}`: `topic "a": partitions is -1`,
	} {
		var out, errOut bytes.Buffer
		status := run(t.Context(), []string{
			"local", "--addr", "127.0.0.1:0", "--kafka", ":0", "--seed", seed(text),
		}, &out, &errOut)
		if status != exitFailed || !strings.Contains(errOut.String(), want) || out.Len() > 0 {
			t.Errorf("%s: status %d, printed %q, errors %q; want %q", text, status, &out, &errOut, want)
		}
	}
}

const topicOfTest = "orders"

func createTopic(t *testing.T, addr string) {
	t.Helper()
	if _, err := kadm.NewClient(kafkaClient(t, addr)).CreateTopic(t.Context(), 1, 1, nil, topicOfTest); err != nil {
		t.Fatal(err)
	}
}

func kafkaClient(t *testing.T, addr string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append(opts, kgo.SeedBrokers(addr))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}
