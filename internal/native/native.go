package native

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Attribute is an attribute of SQS or SNS.
type Attribute struct {
	// Default is its value if nobody has set it. The service may also return "" then.
	Default string
	// Ordered and Encrypted say that only an ordered resource, or one with a key of KMS, can have it.
	Ordered, Encrypted bool

	min, max int      // of a number; 0 and 0: the value is a text
	values   []string // nil: others are possible
	document bool     // its value is a JSON object
}

// Queue returns the attributes of a queue of SQS, by name.
func Queue() map[string]Attribute {
	return map[string]Attribute{
		"KmsDataKeyReusePeriodSeconds":  {Default: "300", min: 60, max: 86_400, Encrypted: true},
		"MaximumMessageSize":            {Default: "1048576", min: 1024, max: 1 << 20},
		"ReceiveMessageWaitTimeSeconds": {Default: "0", max: 20},
		"RedriveAllowPolicy":            {document: true},
	}
}

// Topic returns the attributes of a topic of SNS, by name.
func Topic() map[string]Attribute {
	return map[string]Attribute{
		"ArchivePolicy":                {document: true, Ordered: true},
		"DisplayName":                  {},
		"MaximumMessageSize":           {Default: "262144", min: 1024, max: 1 << 20},
		"SQSFailureFeedbackRoleArn":    {},
		"SQSSuccessFeedbackRoleArn":    {},
		"SQSSuccessFeedbackSampleRate": {Default: "0", max: 100},
		"SignatureVersion":             {Default: "1", values: []string{"1", "2"}},
		"TracingConfig":                {Default: "PassThrough", values: []string{"PassThrough", "Active"}},
	}
}

// Check says why the service would refuse a value.
func (a Attribute) Check(value string) error {
	n, err := strconv.Atoi(value)
	switch {
	case value == "":
		return fmt.Errorf("it is empty: leave it out, and set it by hand if it is to have another value than now")
	case a.max != 0 && (err != nil || n < a.min || n > a.max):
		return fmt.Errorf("it is %q and must be a number within %d and %d", value, a.min, a.max)
	case a.values != nil && !slices.Contains(a.values, value):
		return fmt.Errorf("it is %q and must be one of %s", value, strings.Join(a.values, ", "))
	}
	var doc map[string]any
	if err := json.Unmarshal([]byte(value), &doc); a.document && err != nil {
		return fmt.Errorf("it must be an object of JSON: %w", err)
	}
	return nil
}

// Same reports whether two values are the same to the service; "": nobody has set it.
func (a Attribute) Same(is, wanted string) bool {
	is = cmp.Or(is, a.Default)
	wanted = cmp.Or(wanted, a.Default)
	if is == wanted || !a.document {
		return is == wanted
	}
	var x, y any
	return json.Unmarshal([]byte(is), &x) == nil && json.Unmarshal([]byte(wanted), &y) == nil && reflect.DeepEqual(x, y)
}

// Set returns those attributes of a resource that somebody has set; nil: there are none.
func Set(all map[string]Attribute, is map[string]string) map[string]string {
	var set map[string]string
	for name, a := range all {
		if a.Same(is[name], "") {
			continue
		}
		if set == nil {
			set = map[string]string{}
		}
		set[name] = is[name]
	}
	return set
}

// Kafka returns the settings that a topic of Apache Kafka can have, but for the retention, which is a setting of
// Godwit. Other brokers have further ones, with their name in front.
func Kafka() []string {
	return []string{
		"cleanup.policy", "compression.gzip.level", "compression.lz4.level", "compression.type",
		"compression.zstd.level", "delete.retention.ms", "file.delete.delay.ms", "flush.messages", "flush.ms",
		"follower.replication.throttled.replicas", "index.interval.bytes", "leader.replication.throttled.replicas",
		"local.retention.bytes", "local.retention.ms", "max.compaction.lag.ms", "max.message.bytes",
		"message.downconversion.enable", "message.format.version", "message.timestamp.after.max.ms",
		"message.timestamp.before.max.ms", "message.timestamp.difference.max.ms", "message.timestamp.type",
		"min.cleanable.dirty.ratio", "min.compaction.lag.ms", "min.insync.replicas", "preallocate",
		"remote.log.copy.disable", "remote.log.delete.on.disable", "remote.storage.enable", "retention.bytes",
		"segment.bytes", "segment.index.bytes", "segment.jitter.ms", "segment.ms", "unclean.leader.election.enable",
	}
}
