package kafkalocal_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/local/kafkalocal"
)

var kcatProgram = flag.String("kcat", "",
	"the kcat program, a client that nobody here wrote; .ci/interop and .ci/kafka give it")

// kcat runs the program against a broker and returns what it printed; it fails the test if it cannot.
func kcat(t *testing.T, addr, input string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, *kcatProgram, append([]string{"-b", addr, "-q"}, args...)...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kcat %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// Another client (librdkafka) lists, writes, reads and consumes in a group, together with franz-go.
func TestKcat(t *testing.T) {
	if *kcatProgram == "" {
		t.Skip("no -kcat: .ci/interop runs this")
	}
	addr := os.Getenv(realBroker)
	if addr == "" {
		addr = serve(t, &kafkalocal.ServerOptions{Addr: "127.0.0.1:0"}).Addr()
	}
	topic := unique()
	c := client(t, []kgo.Opt{kgo.SeedBrokers(addr)}, kgo.ConsumeTopics(topic), kgo.DefaultProduceTopic(topic),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	create(t, c, topic)

	if listed := kcat(t, addr, "", "-L", "-t", topic); !strings.Contains(listed,
		fmt.Sprintf("topic %q with 2 partitions", topic)) {
		t.Errorf("listed:\n%s", listed)
	}

	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		kcat(t, addr, "k-"+codec+":"+strings.Repeat(codec, 100)+"\n", "-P", "-t", topic, "-K:", "-H", "from=kcat", "-z",
			codec, "-X", "enable.idempotence=true")
	}
	got := map[string]string{}
	for len(got) < 5 {
		fetches := c.PollFetches(within(t))
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			got[string(r.Key)] = fmt.Sprintf("%s %s", r.Headers[0].Value,
				r.Value)
		})
	}
	want := map[string]string{}
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		want["k-"+codec] = "kcat " + strings.Repeat(codec, 100)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kcat wrote, franz-go read (-want +got):\n%s", diff)
	}

	record := kgo.KeySliceRecord([]byte("from-franz"), []byte("hello"))
	record.Headers = []kgo.RecordHeader{{Key: "from", Value: []byte("franz")}}
	if err := c.ProduceSync(within(t), record).FirstErr(); err != nil {
		t.Fatal(err)
	}
	read := kcat(t, addr, "", "-C", "-t", topic, "-e", "-o", "beginning", "-f", "%k %h %s\n")
	if !strings.Contains(read, "from-franz from=franz hello\n") || strings.Count(read, "\n") != 6 {
		t.Errorf("kcat read:\n%s", read)
	}

	group := unique()
	if consumed := kcat(t, addr, "", "-X", "auto.offset.reset=earliest", "-X", "session.timeout.ms=6000", "-e", "-G",
		group, topic); strings.Count(consumed, "\n") != 6 {
		t.Errorf("kcat consumed:\n%s", consumed)
	}
	offsets, err := kadm.NewClient(c).FetchOffsets(within(t), group)
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	offsets.Each(func(o kadm.OffsetResponse) { sum += o.At })
	if sum != 6 {
		t.Errorf("kcat has committed %d records, want 6", sum)
	}
}
