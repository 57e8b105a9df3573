package house

// A room is one package and what its non-test files may import besides the standard library.
type room struct {
	path   string   // below the module's root; "." is the root package
	ours   []string // rooms it may import; "internal/..." means all below internal; "..." all there are
	others []string // third-party modules (or packages of them) it may import
	tests  bool     // a package of tests alone
}

// Third-party code, by the name it has in the plan.
const (
	awsSDK    = "github.com/aws/aws-sdk-go-v2"
	smithy    = "github.com/aws/smithy-go"
	cobra     = "github.com/spf13/cobra"
	franz     = "github.com/twmb/franz-go/pkg" // all of it, kfake too
	pflag     = "github.com/spf13/pflag"       // the flags of cobra
	xterm     = "golang.org/x/term"
	otel      = "go.opentelemetry.io/otel"
	protobuf  = "google.golang.org/protobuf"
	lambdaSDK = "github.com/aws/aws-lambda-go"
	yamlV3    = "go.yaml.in/yaml/v3"
	cborV2    = "github.com/fxamacker/cbor/v2" // the codec of rpcv2Cbor, which CloudWatch's clients speak
)

// plan lists every package. To add a package, add its line here, and check the direction of its imports: cmd and
// examples may import everything; backends import driver and internal, never godwit or each other; driver imports
// nothing; localaws imports neither godwit nor the SDK that tests it.
var plan = []room{
	{path: ".", ours: []string{"driver", "internal/..."}},
	{path: "driver"},
	{path: "driver/drivertest", ours: []string{"driver"}},
	{path: "driver/memdriver", ours: []string{"driver"}},
	{
		path: "godwittest",
		ours: []string{".", "driver", "internal/envelope", "local", "local/kafkalocal", "localaws/..."},
	},
	{path: "cloudevents", ours: []string{".", "driver"}},
	{path: "godwitproto", others: []string{protobuf}},
	{
		path: "schemaregistry", ours: []string{".", "internal/backoff"}, others: []string{franz + "/sr"},
	},
	{path: "godwitlambda", ours: []string{".", "snssqs"}, others: []string{awsSDK}},
	{path: "local", ours: []string{"driver", "localaws", "s3store", "snssqs"}, others: []string{awsSDK}},
	{
		path: "kafka", ours: []string{"driver", "internal/...", "kafka/internal/..."},
		others: []string{
			franz + "/kgo", franz + "/kadm", franz + "/kerr", franz + "/kmsg", franz + "/sasl", franz + "/kversion",
		},
	},
	{path: "kafka/acceptance", tests: true},
	{
		path: "kafka/internal/assign", ours: []string{"kafka/internal/layout"},
		others: []string{franz + "/kgo", franz + "/kmsg"},
	},
	{path: "kafka/internal/client", others: []string{franz + "/kgo"}},
	{
		path:   "kafka/internal/cluster",
		ours:   []string{"driver", "internal/backoff", "kafka/internal/client", "kafka/internal/failure"},
		others: []string{franz + "/kgo", franz + "/kadm", franz + "/kerr", franz + "/kmsg"},
	},
	{
		path: "kafka/internal/deadletter",
		ours: []string{
			"driver", "internal/envelope",
			"kafka/internal/cluster", "kafka/internal/layout", "kafka/internal/wire",
		},
		others: []string{franz + "/kgo", franz + "/kadm"},
	},
	{path: "kafka/internal/discard", ours: []string{"driver"}},
	{path: "kafka/internal/failure", ours: []string{"driver"}, others: []string{franz + "/kgo", franz + "/kerr"}},
	{path: "kafka/internal/intake", others: []string{franz + "/kgo"}},
	{
		path: "kafka/internal/later",
		ours: []string{
			"driver", "internal/backoff", "internal/deathkind", "kafka/internal/client", "kafka/internal/cluster",
			"kafka/internal/failure", "kafka/internal/provision", "kafka/internal/send", "kafka/internal/transact",
			"kafka/internal/wire",
		},
		others: []string{franz + "/kgo", franz + "/kerr", franz + "/kmsg"},
	},
	{path: "kafka/internal/layout", ours: []string{"driver", "internal/part", "kafka/internal/failure"}},
	{
		path: "kafka/internal/operate",
		ours: []string{
			"driver", "internal/backoff", "internal/claim", "internal/offsets", "kafka/internal/cluster",
			"kafka/internal/deadletter", "kafka/internal/failure", "kafka/internal/later", "kafka/internal/layout",
			"kafka/internal/provision", "kafka/internal/send", "kafka/internal/wire",
		},
		others: []string{franz + "/kgo", franz + "/kadm", franz + "/kerr", franz + "/kmsg"},
	},
	{path: "kafka/internal/parking"},
	{
		path: "kafka/internal/provision",
		ours: []string{
			"driver", "internal/backoff", "internal/claim", "kafka/internal/cluster", "kafka/internal/failure",
			"kafka/internal/layout", "kafka/internal/share",
		},
		others: []string{franz + "/kgo", franz + "/kadm", franz + "/kerr", franz + "/kmsg"},
	},
	{
		path: "kafka/internal/records", // it makes no request: kmsg and kadm are for the texts of requests, and ids
		ours: []string{
			"driver", "internal/offsets", "kafka/internal/discard", "kafka/internal/failure", "kafka/internal/intake",
			"kafka/internal/parking", "kafka/internal/wire",
		},
		others: []string{franz + "/kgo", franz + "/kadm", franz + "/kerr", franz + "/kmsg"},
	},
	{
		path: "kafka/internal/send",
		ours: []string{
			"driver", "internal/claim", "kafka/internal/client", "kafka/internal/cluster", "kafka/internal/deadletter",
			"kafka/internal/failure", "kafka/internal/layout", "kafka/internal/wire",
		},
		others: []string{franz + "/kgo", franz + "/kerr"},
	},
	{
		path: "kafka/internal/share", ours: []string{"driver", "internal/backoff", "kafka/internal/..."},
		others: []string{franz + "/kgo", franz + "/kerr", franz + "/kmsg"},
	},
	{
		path: "kafka/internal/transact",
		ours: []string{
			"driver", "internal/backoff", "kafka/internal/client", "kafka/internal/cluster", "kafka/internal/failure",
			"kafka/internal/provision", "kafka/internal/records", "kafka/internal/send",
		},
		others: []string{franz + "/kgo", franz + "/kadm", franz + "/kerr", franz + "/kmsg", franz + "/kversion"},
	},
	{path: "kafka/internal/wire", ours: []string{"driver"}, others: []string{franz + "/kgo"}},
	// The only package that imports kfake.
	{path: "local/kafkalocal", ours: []string{"driver", "kafka"}, others: []string{franz}},
	{path: "s3store", ours: []string{"driver", "internal/backoff"}, others: []string{awsSDK, smithy}},
	{path: "snssqs", ours: []string{"driver", "internal/...", "snssqs/internal/..."}, others: []string{awsSDK}},
	{path: "snssqs/internal/client", ours: []string{"driver"}, others: []string{awsSDK, smithy}},
	{
		path: "snssqs/internal/estate",
		ours: []string{
			"driver", "internal/backoff", "internal/claim", "internal/filterpolicy", "internal/native",
			"internal/nearname", "internal/part", "snssqs/internal/client", "snssqs/internal/trust",
			"snssqs/internal/wire",
		},
		others: []string{awsSDK},
	},
	{
		path: "snssqs/internal/later",
		ours: []string{
			"driver", "internal/backoff", "internal/deathkind", "snssqs/internal/client", "snssqs/internal/estate",
			"snssqs/internal/wire",
		},
		others: []string{awsSDK},
	},
	{
		path: "snssqs/internal/operate",
		ours: []string{
			"driver", "internal/backoff", "internal/filterpolicy", "internal/native", "snssqs/internal/...",
		},
		others: []string{awsSDK},
	},
	{path: "snssqs/internal/trust", ours: []string{"driver"}, others: []string{awsSDK}},
	{
		path: "snssqs/internal/wire",
		ours: []string{
			"driver", "internal/claim", "internal/envelope", "snssqs/internal/client", "snssqs/internal/trust",
		},
		others: []string{awsSDK},
	},

	{path: "ops", ours: []string{
		".", "driver", "internal/backoff", "internal/deathkind", "internal/nearname", "internal/shape",
		"internal/wholefile", "ops/internal/...",
	}},
	{path: "ops/internal/calling", ours: []string{"driver", "internal/backoff"}},
	{path: "ops/internal/history", ours: []string{"driver", "internal/wholefile"}},
	{path: "ops/internal/walk", ours: []string{"driver", "internal/backoff", "ops/internal/calling"}},
	{path: "ops/describe", ours: []string{"driver", "ops", "ops/internal/...", "ops/processes"}},
	{path: "ops/processes", ours: []string{"ops"}},
	{path: "ops/doctor", ours: []string{"driver", "ops/describe"}},
	{
		path: "telemetry", ours: []string{".", "driver", "internal/deathkind"},
		others: []string{
			otel + "/attribute", otel + "/codes", otel + "/exporters/prometheus", otel + "/metric",
			otel + "/propagation", otel + "/sdk/metric", otel + "/semconv", otel + "/trace",
			"github.com/prometheus/client_golang/prometheus",
		},
	},
	{
		path: "topology",
		ours: []string{
			".", "driver", "internal/filterpolicy", "internal/native", "internal/nearname", "internal/part",
			"internal/prices",
		},
		others: []string{yamlV3},
	},
	{path: "topology/onaws", ours: []string{"snssqs", "topology"}},
	{path: "topology/onkafka", ours: []string{"kafka", "topology"}},
	{path: "telemetry/emf", others: []string{otel + "/attribute", otel + "/sdk/metric"}},

	{path: "console", ours: []string{
		"console/internal/...", "driver", "internal/prices", "ops", "ops/describe", "ops/processes",
	}},
	{path: "console/internal/chart"},
	{path: "console/internal/crowd", ours: []string{"driver", "driver/memdriver"}}, // only tests import it
	{path: "console/internal/filter", ours: []string{"driver", "ops"}},
	{path: "console/internal/runs"},

	{path: "internal/backoff"},
	{path: "internal/batch", ours: []string{"driver", "internal/backoff"}},
	{path: "internal/bodies", ours: []string{"driver", "internal/backoff", "internal/calls"}},
	{path: "internal/calls", ours: []string{"driver"}},
	{path: "internal/claim", ours: []string{"driver"}, others: []string{"github.com/klauspost/compress/zstd"}},
	{path: "internal/cron"},
	{path: "internal/circuit", ours: []string{"internal/backoff"}},
	{path: "internal/contexts"},
	{path: "internal/engine", ours: []string{"driver", "internal/..."}},
	{path: "internal/deathkind", ours: []string{"driver"}},
	{path: "internal/envelope", ours: []string{"driver"}},
	{path: "internal/fullrun"},
	{path: "internal/house", tests: true},
	{path: "internal/lambdaruntime"},
	{path: "internal/offsets"},
	{path: "internal/pace"},
	{path: "internal/part"},
	{path: "internal/pending"},
	{path: "internal/permissions"},
	{path: "internal/processes", tests: true},
	{path: "internal/processes/worker", ours: []string{".", "snssqs"}},
	{path: "internal/filterpolicy", ours: []string{"driver"}},
	{path: "internal/native"},
	{path: "internal/nearname"},
	{path: "internal/prices"},
	{path: "internal/shape"},
	{path: "internal/wholefile"},
	{path: "internal/sim", tests: true},

	{path: "localaws", ours: []string{"localaws/..."}}, // but localaws/disk: see apart_test.go
	{path: "localaws/access"},
	{path: "localaws/clock"},
	{
		path: "localaws/cloudwatch",
		ours: []string{
			"localaws/clock", "localaws/cloudwatch/alarm", "localaws/cloudwatch/expression",
			"localaws/cloudwatch/metric", "localaws/keep", "localaws/wire",
		},
	},
	{path: "localaws/cloudwatch/alarm"},
	{path: "localaws/cloudwatch/expression"},
	{path: "localaws/cloudwatch/metric"},
	{path: "localaws/conformance", tests: true},
	{path: "localaws/disk", ours: []string{"localaws/keep"}},
	{path: "localaws/interop/differences"},
	{path: "localaws/keep"},
	{path: "localaws/random"},
	{path: "localaws/rest", ours: []string{"localaws/random", "localaws/wire"}},
	{
		path: "localaws/s3",
		ours: []string{
			"localaws/clock", "localaws/keep", "localaws/random", "localaws/rest", "localaws/s3/bucket",
			"localaws/wire",
		},
	},
	{path: "localaws/s3/bucket", ours: []string{"localaws/keep"}},
	{
		path: "localaws/sns",
		ours: []string{
			"localaws/access", "localaws/clock", "localaws/keep", "localaws/random", "localaws/sns/filter",
			"localaws/sns/jsontext", "localaws/sqs", "localaws/wire",
		},
	},
	{path: "localaws/sns/filter", ours: []string{"localaws/sns/jsontext"}},
	{path: "localaws/sns/jsontext"},
	{
		path: "localaws/sqs",
		ours: []string{
			"localaws/access", "localaws/clock", "localaws/keep", "localaws/random", "localaws/sqs/...",
			"localaws/wire",
		},
	},
	{
		path: "localaws/sqs/queue",
		ours: []string{"localaws/clock", "localaws/keep", "localaws/random", "localaws/wire"},
	},
	{path: "localaws/sts", ours: []string{"localaws/random", "localaws/wire"}},
	{path: "localaws/tagging", ours: []string{"localaws/sns", "localaws/sqs", "localaws/wire"}},
	{path: "localaws/wire", ours: []string{"localaws/clock", "localaws/random"}, others: []string{cborV2}},

	{path: "cmd/godwit", ours: []string{"..."}, others: []string{cobra, pflag, xterm}},
	{path: "cmd/godwit/internal/compose", ours: []string{".", "driver"}},
	{path: "cmd/godwit/internal/boot"},
	{path: "cmd/godwit/internal/connection", ours: []string{"internal/wholefile", "topology"}},
	{
		path: "cmd/godwit/internal/dashboard", ours: []string{"cmd/godwit/internal/screen", "driver", "ops"},
		others: []string{"github.com/gdamore/tcell/v2"},
	},
	{path: "cmd/godwit/internal/declared", ours: []string{"s3store", "topology"}},
	{
		path: "cmd/godwit/internal/described",
		ours: []string{"cmd/godwit/internal/screen", "driver", "ops", "ops/describe"},
	},
	{path: "cmd/godwit/internal/detach"},
	{path: "cmd/godwit/internal/faults", ours: []string{"localaws", "localaws/wire"}},
	{path: "cmd/godwit/internal/jq", others: []string{"github.com/itchyny/gojq"}},
	{
		path: "cmd/godwit/internal/localconsole",
		ours: []string{".", "console", "driver", "local", "localaws", "localaws/wire", "ops"},
	},
	{path: "cmd/godwit/internal/manual", others: []string{cobra, pflag}},
	{path: "cmd/godwit/internal/screen", others: []string{cobra, xterm}},
	{
		path: "cmd/godwit/internal/mcpserver",
		ours: []string{
			"cmd/godwit/internal/selection", "driver", "ops", "ops/describe", "ops/doctor", "ops/processes",
		},
		others: []string{"github.com/modelcontextprotocol/go-sdk"},
	},
	{
		path:   "cmd/godwit/internal/selection",
		ours:   []string{"cmd/godwit/internal/jq", "driver", "internal/deathkind", "ops"},
		others: []string{pflag},
	},
	{path: "cmd/godwit/internal/worker", ours: []string{".", "internal/backoff"}},
	{path: "cmd/godwit/internal/demo", ours: []string{"..."}},
	{path: "cmd/godwit-lambda", ours: []string{"..."}, others: []string{awsSDK, lambdaSDK}},
	{path: "cmd/internal/operator", ours: []string{"driver", "ops", "s3store", "snssqs"}},
	{path: "examples/deadletters", ours: []string{"..."}},
	{path: "examples/iterator", ours: []string{"..."}},
	{path: "examples/kafka", ours: []string{"..."}},
	{path: "examples/lambda", ours: []string{"..."}, others: []string{lambdaSDK}},
	{path: "examples/locale", ours: []string{"..."}},
	{path: "examples/quickstart", ours: []string{"..."}},
	{path: "examples/service", ours: []string{"..."}},
	{path: "examples/typed", ours: []string{"..."}},
}

// statics are package-level variables that are allowed although they can change, each with the reason. Sentinel errors,
// tables that are complete from the start, and compile-time assertions need no entry.
var statics = map[string]string{
	"..JSON": "a codec without state, spelled as a value because it is passed like one",
	"..Raw":  "a codec without state, spelled as a value because it is passed like one",

	"internal/engine.handlerReturned": "always nil: its address is the reason why a context has ended",
}
