package topology_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/driver/memdriver"
	"github.com/godwitmq/godwit/topology"
)

// The exports of the declaration of testdata.
func TestExports(t *testing.T) {
	s := shop(t)
	golden(t, "testdata/shop.mmd", topology.Mermaid(s))
	golden(t, "testdata/shop.md", topology.Markdown(s))
	text, err := topology.AsyncAPI(s)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/shop.asyncapi.json", string(text))
	if text, err = topology.ScaledObjects(s, nil); err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/shop.scaledobjects.yaml", string(text))
	inWorld(t, func(w *world) {
		text, err := topology.Terraform(w.b, s, nil)
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "testdata/shop.tf.json", string(text))
		if text, err = topology.CloudFormation(w.b, s); err != nil {
			t.Fatal(err)
		}
		golden(t, "testdata/shop.template.json", string(text))
		calls := w.b.Server().Calls()
		if len(calls) > 0 {
			t.Errorf("an export calls %v", calls)
		}
	})
}

// What exists gets import blocks.
func TestTerraformImports(t *testing.T) {
	inWorld(t, func(w *world) {
		s := shop(t)
		w.apply(s, nil)
		all, err := w.b.Catalog(w.Context())
		if err != nil {
			t.Fatal(err)
		}
		text, err := topology.Terraform(w.b, s, all)
		var config struct {
			Import   []struct{ To, ID string }
			Resource map[string]map[string]any
		}
		if err == nil {
			err = json.Unmarshal(text, &config)
		}
		if err != nil || len(config.Import) != 12 {
			t.Fatalf("%d imports, %v", len(config.Import), err)
		}
		for _, i := range config.Import {
			kind, name, _ := strings.Cut(i.To, ".")
			if config.Resource[kind][name] == nil || !strings.Contains(i.ID, "prod---") {
				t.Errorf("an import of %+v", i)
			}
		}
		if i := config.Import[0]; i.To != "aws_sns_topic.ledger" ||
			i.ID != "arn:aws:sns:us-east-1:000000000000:prod---ledger.fifo" {
			t.Errorf("the first import is %+v", i)
		}
	})
}

// Names that differ only in what a form leaves out stay different.
func TestExportsOfSimilarNames(t *testing.T) {
	inWorld(t, func(w *world) {
		s := &topology.Spec{Exchanges: map[string]topology.Exchange{"ab": {}}, Channels: map[string]topology.Channel{}}
		for _, name := range []string{"a-b", "a_b", "aB", "AB", "1ab", "ab.topic", "ab.dlq-1", "ab.dlq1"} {
			s.Channels[name] = topology.Channel{}
		}
		text, err := topology.CloudFormation(w.b, s)
		if n := strings.Count(string(text), `"AWS::SQS::Queue"`); err != nil || n != 16 {
			t.Errorf("%d queues in a template, %v", n, err)
		}
		if text, err = topology.Terraform(w.b, s, nil); err != nil {
			t.Fatal(err)
		}
		var config struct{ Resource map[string]map[string]any }
		if err := json.Unmarshal(text, &config); err != nil || len(config.Resource["aws_sqs_queue"]) != 16 {
			t.Errorf("%d queues in a configuration, %v", len(config.Resource["aws_sqs_queue"]), err)
		}
		objects, err := topology.ScaledObjects(s, &topology.ScaledObjectsOptions{
			Demand: "https://demand.example/", Most: 3, Target: func(channel string) string { return "all" },
		})
		names := map[string]bool{}
		for line := range strings.Lines(string(objects)) {
			if name, found := strings.CutPrefix(line, "  name: "); found && !strings.Contains(line, "all") {
				names[name] = strings.ToLower(name) == name && !strings.Contains(name, "_")
			}
		}
		if err != nil || len(names) != 8 || slices.Contains(slices.Collect(maps.Values(names)), false) ||
			!strings.Contains(string(objects), "url: https://demand.example/demand?channel=a_b") ||
			strings.Count(string(objects), "maxReplicaCount: 3") != 8 {
			t.Errorf("%v: names %v\n%s", err, names, objects)
		}
		nodes := map[string]bool{}
		for line := range strings.Lines(topology.Mermaid(s)) {
			if node, _, found := strings.Cut(strings.TrimSpace(line), "["); found && !strings.Contains(node, " ") {
				nodes[node] = true
			}
		}
		if len(nodes) != 8 {
			t.Errorf("%d queues in a picture: %v", len(nodes), nodes)
		}
	})
}

// Random declarations are exported: every attribute is known, and every reference names a resource.
func TestExportsOfRandomDeclarations(t *testing.T) {
	inWorld(t, func(w *world) {
		for seed := range uint64(100) {
			s := random(rand.New(rand.NewPCG(seed, 3)))
			text, err := topology.CloudFormation(w.b, s)
			var template struct{ Resources, Parameters map[string]any }
			if err == nil {
				err = json.Unmarshal(text, &template)
			}
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for _, name := range references(template.Resources) {
				if template.Resources[name] == nil && template.Parameters[name] == nil && name != "AWS::NoValue" {
					t.Errorf("seed %d: a reference to %s, of %v", seed, name,
						slices.Sorted(maps.Keys(template.Resources)))
				}
			}
			if left := strings.Count(string(text), "${"); left != 0 && substitutions(template.Resources) != left {
				t.Errorf("seed %d: a reference is a text:\n%s", seed, text)
			}
			if _, err := topology.Terraform(w.b, s, nil); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			_, _ = topology.Mermaid(s), topology.Markdown(s)
			if _, err := topology.AsyncAPI(s); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		}
	})
}

// substitutions are how many names CloudFormation replaces in texts.
func substitutions(value any) (n int) {
	switch v := value.(type) {
	case map[string]any:
		if text, ok := v["Fn::Sub"].(string); ok {
			return strings.Count(text, "${")
		}
		for _, one := range v {
			n += substitutions(one)
		}
	case []any:
		for _, one := range v {
			n += substitutions(one)
		}
	}
	return n
}

// references are the resources that a template refers to.
func references(value any) (all []string) {
	switch v := value.(type) {
	case map[string]any:
		if name, ok := v["Ref"].(string); ok {
			all = append(all, name)
		}
		if at, ok := v["Fn::GetAtt"].([]any); ok {
			all = append(all, fmt.Sprint(at[0]))
		}
		for _, one := range v {
			all = append(all, references(one)...)
		}
	case []any:
		for _, one := range v {
			all = append(all, references(one)...)
		}
	}
	return all
}

// A text that looks as if Terraform replaced it is a text.
func TestTerraformTexts(t *testing.T) {
	inWorld(t, func(w *world) {
		s := shop(t)
		c := s.Channels["wishes.mobile"]
		c.Filter = topology.Filter{Exact: []string{"${var.x}", "%{if}"}}
		s.Channels["wishes.mobile"] = c
		s.Exchanges["wishes"] = topology.Exchange{Attributes: map[string]string{"DisplayName": "${a}"}}
		text, err := topology.Terraform(w.b, s, nil)
		if err != nil || strings.Contains(string(text), `"${var`) || !strings.Contains(string(text), `$${var.x}`) ||
			!strings.Contains(string(text), `%%{if}`) || !strings.Contains(string(text), `"display_name": "$${a}"`) {
			t.Errorf("%v\n%s", err, text)
		}
	})
}

// terraformTypes are the arguments of the provider hashicorp/aws 6 that are not texts.
var terraformTypes = map[string]string{
	"content_based_deduplication": "bool", "fifo_queue": "bool", "fifo_topic": "bool", "raw_message_delivery": "bool",
	"sqs_managed_sse_enabled": "bool", "delay_seconds": "number", "max_message_size": "number",
	"message_retention_seconds": "number", "kms_data_key_reuse_period_seconds": "number",
	"receive_wait_time_seconds": "number", "visibility_timeout_seconds": "number", "tags": "map",
}

// Every argument of a configuration is one of the provider's schema, with a value of its type, and every address in a
// text names a resource of the configuration. Arguments that exclude each other are not there together.
func TestTerraformArguments(t *testing.T) {
	known := map[string][]string{
		"aws_sqs_queue":              slices.AppendSeq([]string{"name", "tags"}, maps.Values(queueArguments)),
		"aws_sns_topic":              slices.AppendSeq([]string{"name", "tags"}, maps.Values(topicArguments)),
		"aws_sns_topic_subscription": slices.Collect(maps.Values(subscriptionArguments)),
		"aws_sqs_queue_policy":       {"queue_url", "policy"}, "aws_sns_topic_policy": {"arn", "policy"},
	}
	address := regexp.MustCompile(`\$\{(aws_[a-z_]+)\.([\w-]+)\.(arn|url)\}`)
	inWorld(t, func(w *world) {
		for seed := range uint64(100) {
			s := random(rand.New(rand.NewPCG(seed, 8)))
			if seed == 0 {
				s = shop(t)
			}
			text, err := topology.Terraform(w.b, s, nil)
			var config struct {
				Resource map[string]map[string]map[string]any
			}
			if err == nil {
				err = json.Unmarshal(text, &config)
			}
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			for _, m := range address.FindAllStringSubmatch(string(text), -1) {
				if config.Resource[m[1]][m[2]] == nil {
					t.Errorf("seed %d: %s names no resource", seed, m[0])
				}
			}
			for kind, all := range config.Resource {
				for name, arguments := range all {
					for argument, value := range arguments {
						is := map[string]string{"string": "", "float64": "number", "map[string]interface {}": "map"}
						is["bool"] = "bool"
						computed := argument == "arn" && kind != "aws_sns_topic_policy"
						if !slices.Contains(known[kind], argument) || computed ||
							is[fmt.Sprintf("%T", value)] != terraformTypes[argument] {
							t.Errorf("seed %d: %s.%s has %s = %T", seed, kind, name, argument, value)
						}
					}
					if arguments["kms_master_key_id"] != nil && arguments["sqs_managed_sse_enabled"] != nil {
						t.Errorf("seed %d: %s.%s has two kinds of encryption", seed, kind, name)
					}
				}
			}
		}
	})
}

// A topic's size of messages has no argument in Terraform's provider, and is a property of CloudFormation's.
func TestAttributesOfOneExport(t *testing.T) {
	inWorld(t, func(w *world) {
		s := &topology.Spec{Exchanges: map[string]topology.Exchange{
			"wishes": {Attributes: map[string]string{"MaximumMessageSize": "1048576"}},
		}}
		if _, err := topology.Terraform(w.b, s, nil); err == nil ||
			!strings.Contains(err.Error(), "cannot set MaximumMessageSize of topic prod---wishes") {
			t.Errorf("Terraform: %v", err)
		}
		if text, err := topology.CloudFormation(w.b, s); err != nil ||
			!strings.Contains(string(text), `"MaximumMessageSize": 1048576`) {
			t.Errorf("CloudFormation: %v\n%s", err, text)
		}
	})
}

// Only resources of SNS and SQS can be exported.
func TestExportsOfOtherBackends(t *testing.T) {
	b, err := memdriver.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := topology.Terraform(b, shop(t), []driver.ChannelInfo{}); err == nil {
		t.Error("memory is exported to Terraform")
	}
	if _, err := topology.CloudFormation(b, shop(t)); err == nil {
		t.Error("memory is exported to CloudFormation")
	}
}
