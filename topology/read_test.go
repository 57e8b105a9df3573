package topology_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/topology"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (write it with: go test ./topology -update)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), or rewrite it with -update:\n%s", file, diff)
	}
}

// shop is the declaration of testdata.
func shop(t *testing.T) *topology.Spec {
	t.Helper()
	s, err := topology.Read("godwit.yaml", readFile(t, "testdata/shop.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The file says the options of consumers and producers, with the defaults.
func TestOptionsOfAFile(t *testing.T) {
	s := shop(t)
	got, err := s.Consumer("orders")
	want := &godwit.ConsumerOptions{
		Ordered: true, Retention: 96 * time.Hour, ProcessingTimeout: 30 * time.Second, MaxAttempts: 5,
		Ownership: godwit.Ownership{
			Owner: "team-shop", Environment: "production", Critical: true, AlarmAge: 10 * time.Minute, AlarmDepth: 1000,
			Tags: map[string]string{"cost-center": "42"},
		},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	audit, err := s.Consumer("wishes.audit")
	if err != nil || audit.MaxAttempts != 1 || audit.Retention != 96*time.Hour ||
		!cmp.Equal(audit.Ownership.Tags, map[string]string{"cost-center": "7", "audit": "yes"}) {
		t.Errorf("%+v, %v", audit, err)
	}
	if books, err := s.Consumer("ledger.books"); err != nil || !books.Ordered {
		t.Errorf("a channel of an ordered exchange: %+v, %v", books, err)
	}
	if p, err := s.Producer("ledger.*"); err != nil || !p.Ordered || p.Ownership.Owner != "team-shop" {
		t.Errorf("a producer: %+v, %v", p, err)
	}
	if kept, err := s.Consumer("invoices"); err != nil || kept.Ownership.Tags["keep"] != "until the audit" {
		t.Errorf("a channel to keep: %+v, %v", kept, err)
	}
	if _, err := s.Consumer("order"); err == nil || !strings.Contains(err.Error(), "perhaps orders?") {
		t.Errorf("a channel that is not declared: %v", err)
	}
	if _, err := s.Producer("wish.*"); err == nil || !strings.Contains(err.Error(), "perhaps wishes.*?") {
		t.Errorf("an exchange that is not declared: %v", err)
	}
}

// Each mistake is found, with its line and column and a way to repair it.
func TestMistakes(t *testing.T) {
	long := strings.Repeat("x", 70)
	many := strings.Repeat("a,", 151)
	for name, c := range map[string]struct{ text, want string }{
		"unknown key": {
			"channels:\n  orders:\n    retentoin: 4d",
			"3:5: channels.orders.retentoin: there is no such key (perhaps retention?)",
		},
		"unknown at the top": {"chanels: {}", "1:1: chanels: there is no such key (perhaps channels?)"},
		"a number": {
			"channels: {orders: {max_attempts: many}}",
			`1:35: channels.orders.max_attempts: it is "many" and should be a number`,
		},
		"a duration": {
			"channels:\n  orders:\n    delay: 5",
			`3:12: channels.orders.delay: it is "5" and should be a duration with its unit`,
		},
		"a bool":             {"channels: {orders: {ordered: ja}}", "should be true or false"},
		"a text":             {"owner: 7", "put it in quotes"},
		"a list for a text":  {"owner: [a]", "1:8: owner: it is a list and should be a text"},
		"keys for a list":    {"channels: {a.b: {filter: {exact: x}}}", "should be a list"},
		"a list of channels": {"channels: [orders]", "1:11: channels: it is a list and should be keys with values"},
		"a key twice":        {"channels:\n  a: {}\n  a: {}", "3:3: channels.a: it is there twice"},
		"merge keys": {
			"defaults: &d {}\nchannels:\n  a: {<<: *d}",
			"3:7: channels.a.<<: keys cannot be merged",
		},
		"two documents": {"owner: a\n---\nowner: b", "2:1: a second document"},
		"dead of dead":  {"channels: {orders@dlq@dlq: {}}", "dead letters have no dead letters of their own"},
		"dead letters":  {"channels: {orders@dlq: {}}", "the dead letters of orders are declared with it"},
		"dead letters of two": {
			"channels:\n  a: {queue: left}\n  b: {dead_letters: left}",
			"3:7: channels.b.dead_letters: left is the queue of a",
		},
		"one name": {
			"channels:\n  a: {queue: legacy}\n  b: {queue: legacy}",
			"3:3: channels.b: it has the queue legacy, as a has",
		},
		"one name, derived": {
			"channels:\n  a: {queue: b}\n  b: {}",
			"3:3: channels.b: it has the queue b, as a has",
		},
		"one topic": {
			"exchanges:\n  a: {topic: t}\n  t: {}",
			"3:3: exchanges.t: it has the topic t, as a has",
		},
		"queue and exchange": {
			"channels: {a: {}}\nexchanges: {a: {}}",
			"1:12: channels.a: a is both a channel and an exchange",
		},
		"ordered on not": {
			"exchanges: {e: {}}\nchannels:\n  e.a:\n    ordered: true",
			"4:5: channels.e.a.ordered: exchange e is not ordered",
		},
		"not on ordered": {
			"exchanges: {e: {ordered: true}}\nchannels:\n  e.a:\n    ordered: false",
			"4:5: channels.e.a.ordered: exchange e is ordered",
		},
		"filter of a queue": {
			"channels:\n  a:\n    filter: {exact: [x]}",
			"3:5: channels.a.filter: a filter selects messages of an exchange",
		},
		"filter of both": {
			"exchanges: {e: {}}\nchannels: {e.a: {filter: {exact: [x], exclude: [y]}}}",
			"exclude cannot be combined",
		},
		"an empty value": {
			"exchanges: {e: {}}\nchannels: {e.a: {filter: {exact: ['']}}}",
			"an empty value matches no routing key",
		},
		"too many values": {
			"exchanges: {e: {}}\nchannels: {e.a: {filter: {exact: [" + many + "]}}}",
			"it has 151 values, and SNS allows 150",
		},
		"too many values with exclude": {
			"exchanges: {e: {}}\nchannels: {e.a: {filter: {exclude: [" + many[2:] + "]}}}",
			"it has 151 values, and SNS allows 150",
		},
		"too many filters": {filters(201), "exchange e has more than 200 channels with filters"},
		"a long name": {
			"channels: {" + long + "x.yyyyyy: {}}\nexchanges: {" + long + "x: {}}",
			"4 more than SQS accepts",
		},
		"a long delay": {
			"channels:\n  a:\n    delay: 16m",
			"3:5: channels.a.delay: it is 16m and must be within 0s and 15m",
		},
		"a short retention": {"channels: {a: {retention: 59s}}", "must be within 1m and 14d"},
		"a long retention":  {"channels: {a: {retention: 15d}}", "must be within 1m and 14d"},
		"dead below source": {
			"channels: {a: {retention: 4d, dead_letter_retention: 1d}}",
			"it is 1d, and messages are kept for 4d",
		},
		"dead below default": {"channels: {a: {dead_letter_retention: 1d}}", "messages are kept for 14d"},
		"dead without": {
			"channels: {a: {no_dead_letters: true, dead_letter_retention: 14d}}",
			"have no effect with it",
		},
		"not declared": {
			"exchanges: {wishes: {}}\nchannels: {wishs.a: {}}",
			"exchange wishs is not declared (perhaps wishes?)",
		},
		"an exchange's name": {"channels: {e.*: {}}", "an exchange is declared under exchanges"},
		"fifo":               {"channels: {a.fifo: {}}", "call it a, and set ordered: true"},
		"a name":             {"channels: {a b: {}}", "is no name of a channel"},
		"an exchange":        {"exchanges: {a--b: {}}", "is no name of an exchange"},
		"a namespace":        {"namespace: a.b", "cannot begin a name"},
		"fifo of a mapped": {
			"channels: {a: {queue: legacy.fifo}}",
			"legacy.fifo is ordered (FIFO), and the channel is not ordered",
		},
		"high, not ordered":  {"channels: {a: {high_throughput: true}}", "it is for ordered channels"},
		"a default's filter": {"defaults: {filter: {exact: [a]}}", "it is a channel's own"},
		"a prefix alone":     {"payloads: {prefix: big/}", "it has no effect without bucket"},
		"decisions alone":    {"decisions: {bucket: decided}", "name both"},
		"decisions, wrong":   {"decisions: {bucket: A_B, prefix: d/}", "is no name of a bucket"},
		"decisions below": {
			"payloads: {bucket: shop, prefix: a/}\ndecisions: {bucket: shop, prefix: a/b/}", "below the prefix of the payloads",
		},
		"an own tag":   {"channels: {a: {tags: {owner: me}}}", "write owner"},
		"Godwit's tag": {"channels: {a: {tags: {managed-by: me}}}", "Godwit sets this tag itself"},
		"an attribute": {
			"channels:\n  a:\n    attributes: {MaximumMesageSize: '2048'}",
			"3:18: channels.a.attributes.MaximumMesageSize: there is no such attribute (perhaps MaximumMessageSize?)",
		},
		"an own attribute":   {"channels: {a: {attributes: {DelaySeconds: '1'}}}", "write delay"},
		"Godwit's attribute": {"channels: {a: {attributes: {Policy: '{}'}}}", "Godwit sets this attribute itself"},
		"an attribute's value": {
			"channels: {a: {attributes: {ReceiveMessageWaitTimeSeconds: '21'}}}",
			`it is "21" and must be a number within 0 and 20`,
		},
		"an attribute of a key": {
			"channels: {a: {attributes: {KmsDataKeyReusePeriodSeconds: '60'}}}",
			"set kms_key as well",
		},
		"an attribute of order": {
			"exchanges: {e: {attributes: {ArchivePolicy: '{}'}}}",
			"it is for ordered channels: set ordered as well",
		},
		"an attribute of a mapped queue": {
			"channels: {a: {queue: legacy, attributes: {MaximumMessageSize: '2048'}}}",
			"used and never changed",
		},
		"a topic's attribute": {
			"channels: {a: {attributes: {TracingConfig: Active}}}",
			"there is no such attribute",
		},
		"a setting of Kafka": {
			"kafka:\n  config: {segment.byts: '1'}",
			"2:12: kafka.config.segment.byts: topics have no such setting (perhaps segment.bytes?)",
		},
		"Kafka's retention":   {"kafka: {config: {retention.ms: '1'}}", "write retention"},
		"a tag's value":       {"owner: 'shop*'", `1:1: owner: "shop*" has '*': the name and the value of a tag can have`},
		"a tag's name":        {"channels: {a: {tags: {a#b: c}}}", `"a#b" has '#'`},
		"a tag of AWS":        {"channels: {a: {tags: {'AWS:x': c}}}", "AWS keeps names that begin with aws:"},
		"why it is kept":      {"channels: {a: {keep: 'yes, it is'}}", `has ','`},
		"part of a second":    {"channels: {a: {delay: 1500ms}}", "it is 1.5s: SQS counts whole seconds"},
		"an alarm in between": {"channels: {a: {alarms: {age: 500ms}}}", "it is 500ms: SQS counts whole seconds"},
		"a bucket":            {"payloads: {bucket: Shop_Bodies}", "is no name of a bucket"},
		"attempts":            {"channels: {a: {max_attempts: 1001}}", "must be within 1 and 1000"},
		"an ordering":         {"kafka: {ordering: keys}", `"keys" is none of key, partition, none (perhaps key?)`},
		"tiers":               {"kafka: {tiers: [1m, 5s]}", "1:21: kafka.tiers.1: it is 5s: tiers are whole seconds"},
		"a topic's setting": {
			"exchanges: {e: {}}\nchannels: {e.a: {kafka: {partitions: 3}}}",
			"write them at exchange e",
		},
		"negative": {"kafka: {replication: -1}", "it cannot be negative"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := topology.Read("godwit.yaml", []byte(c.text))
			if wrong, ok := errors.AsType[*topology.MistakesError](err); !ok || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			} else if m := wrong.Mistakes[0]; m.Line == 0 || !strings.HasPrefix(err.Error(), "godwit.yaml:") {
				t.Errorf("it has no position: %+v", m)
			}
		})
	}
	if _, err := topology.Read("godwit.yaml", []byte("a: [")); err == nil || !strings.Contains(err.Error(), "no YAML") {
		t.Errorf("what is no YAML: %v", err)
	}
	if s, err := topology.Read("godwit.yaml", nil); err != nil || len(s.Channels) != 0 {
		t.Errorf("an empty file: %+v, %v", s, err)
	}
}

// filters is a declaration of so many channels with filters.
func filters(n int) string {
	var text strings.Builder
	text.WriteString("exchanges: {e: {}}\nchannels:\n")
	for i := range n {
		fmt.Fprintf(&text, "  e.c%d: {filter: {exact: [a]}}\n", i)
	}
	return text.String()
}

// All mistakes are reported at once, in the order of the file.
func TestAllMistakesAtOnce(t *testing.T) {
	_, err := topology.Read("godwit.yaml", []byte(`
ownr: shop
channels:
  orders: {delay: 1h, ordered: 1}
  a@dlq: {}
  b: {filter: {exact: [x]}}
`))
	golden(t, "testdata/mistakes.golden", fmt.Sprint(err)+"\n")
}

// A declaration that a program has made is checked as well, and its mistakes have paths.
func TestCheck(t *testing.T) {
	s := &topology.Spec{Channels: map[string]topology.Channel{"orders": {Delay: time.Hour}}}
	err := s.Check()
	if want := "channels.orders.delay: it is 1h and must be within 0s and 15m"; fmt.Sprint(err) != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := shop(t).Check(); err != nil {
		t.Error(err)
	}
}

// The published schema is that of the code, and another program's validator reads it: it accepts what Read accepts, and
// refuses unknown keys and wrong types.
func TestSchema(t *testing.T) {
	golden(t, "../docs/godwit.schema.json", string(topology.Schema()))
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(topology.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("godwit.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("godwit.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for text, right := range map[string]bool{
		string(text): true, "channels: {orders: {retention: 3d12h}}": true,
		"chanels: {}": false, "channels: {orders: {delay: 5}}": false, "channels: {orders: {ordered: 1}}": false,
		"kafka: {ordering: keys}": false, "channels: {orders: {delay: soon}}": false,
	} {
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != right {
			t.Errorf("%s: %v", text, err)
		}
		if _, err := topology.Read("godwit.yaml", []byte(text)); (err == nil) != right {
			t.Errorf("Read: %s: %v", text, err)
		}
	}
}

// Nothing that anybody writes makes Read panic.
func FuzzRead(f *testing.F) {
	text, err := os.ReadFile("testdata/shop.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(text))
	f.Add("a: &a [*a]\nchannels: *a")
	f.Add("defaults: &d {tags: &t {a: *t}}\nchannels: {b: *d}")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = topology.Read("f", []byte(text)) })
}
