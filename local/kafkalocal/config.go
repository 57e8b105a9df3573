package kafkalocal

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// setting checks a value of a topic's config; it returns what is wrong with it, or "".
type setting func(value string) string

// topicConfigs are all topic configs that a broker of Kafka 4.4 knows, with their bounds. A test compares them with
// those of a real broker.
func topicConfigs() map[string]setting {
	return map[string]setting{
		cleanupPolicy:                             list("compact", "delete"),
		"compression.gzip.level":                  gzipLevel,
		"compression.lz4.level":                   integer(1, 17),
		"compression.type":                        word("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
		"compression.zstd.level":                  integer(-131072, 22),
		"delete.retention.ms":                     long(0),
		"errors.deadletterqueue.group.enable":     boolean,
		"file.delete.delay.ms":                    long(0),
		"flush.messages":                          long(1),
		"flush.ms":                                long(0),
		"follower.replication.throttled.replicas": replicas,
		"index.interval.bytes":                    integer(0, math.MaxInt32),
		// For Kafka's own tests; not listed to clients.
		"internal.segment.bytes":                integer(math.MinInt32, math.MaxInt32),
		"leader.replication.throttled.replicas": replicas,
		"local.retention.bytes":                 long(-2),
		"local.retention.ms":                    long(-2),
		"max.compaction.lag.ms":                 long(1),
		"max.decompressed.message.bytes":        integer(1, math.MaxInt32),
		"max.message.bytes":                     integer(0, math.MaxInt32),
		"message.timestamp.after.max.ms":        long(0),
		"message.timestamp.before.max.ms":       long(0),
		"message.timestamp.type":                word("CreateTime", "LogAppendTime"),
		"min.cleanable.dirty.ratio":             ratio,
		"min.compaction.lag.ms":                 long(0),
		"min.insync.replicas":                   integer(1, math.MaxInt32),
		"preallocate":                           boolean,
		"remote.copy.lag.bytes":                 long(-1),
		"remote.copy.lag.ms":                    long(-1),
		"remote.log.copy.disable":               boolean,
		"remote.log.delete.on.disable":          boolean,
		"remote.storage.enable":                 remoteStorage,
		"retention.bytes":                       long(math.MinInt64),
		"retention.ms":                          long(-1),
		"segment.bytes":                         integer(1<<20, math.MaxInt32),
		"segment.index.bytes":                   integer(4, math.MaxInt32),
		"segment.jitter.ms":                     long(0),
		"segment.ms":                            long(1),
		"unclean.leader.election.enable":        boolean,
	}
}

// checkTopicConfig refuses a config that a broker does not know, or a value that it does not accept.
func checkTopicConfig(name string, value *string) refusal {
	takes, known := topicConfigs()[name]
	if !known {
		return refused(kerr.InvalidConfig, "Unknown topic config name: %s", name)
	}
	if value == nil {
		return refused(kerr.InvalidRequest, "Null value not supported for : %s", name)
	}
	if wrong := takes(*value); wrong != "" {
		return refused(kerr.InvalidConfig, "Invalid value %s for configuration %s: %s", *value, name, wrong)
	}
	return refusal{}
}

func integer(least, most int64) setting { return number(32, "INT", least, most) }
func long(least int64) setting          { return number(64, "LONG", least, math.MaxInt64) }

func number(bits int, kind string, least, most int64) setting {
	return func(value string) string {
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, bits)
		switch {
		case err != nil:
			return "Not a number of type " + kind
		case n < least:
			return "Value must be at least " + strconv.FormatInt(least, 10)
		case n > most:
			return "Value must be no more than " + strconv.FormatInt(most, 10)
		}
		return ""
	}
}

func gzipLevel(value string) string {
	n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 32)
	switch {
	case err != nil:
		return "Not a number of type INT"
	case n != -1 && (n < 1 || n > 9):
		return "Value must be between 1 and 9 or equal to -1"
	}
	return ""
}

func ratio(value string) string {
	f, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	switch {
	case err != nil:
		return "Not a number of type DOUBLE"
	case f < 0:
		return "Value must be at least 0"
	case f > 1:
		return "Value must be no more than 1"
	}
	return ""
}

func boolean(value string) string {
	if v := strings.ToLower(strings.TrimSpace(value)); v != "true" && v != "false" {
		return "Expected value to be either true or false"
	}
	return ""
}

func remoteStorage(value string) string {
	if wrong := boolean(value); wrong != "" {
		return wrong
	}
	if strings.EqualFold(strings.TrimSpace(value), "true") {
		return "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log " +
			"storage."
	}
	return ""
}

func word(words ...string) setting {
	return func(value string) string {
		if !slices.Contains(words, strings.TrimSpace(value)) {
			return "String must be one of: " + strings.Join(words, ", ")
		}
		return ""
	}
}

func list(words ...string) setting {
	one := word(words...)
	return func(value string) string {
		for _, v := range elements(value) {
			if wrong := one(v); wrong != "" {
				return wrong
			}
		}
		return ""
	}
}

// elements returns the elements of a list; the empty text is the empty list.
func elements(value string) []string {
	if strings.TrimSpace(value) == "" {
		return nil
	}
	return strings.Split(value, ",")
}

func replicas(value string) string {
	pair := regexp.MustCompile(`^\s*\d+:\d+\s*$`)
	if strings.TrimSpace(value) == "*" {
		return ""
	}
	for _, v := range elements(value) {
		if !pair.MatchString(v) {
			return "it must be the literal '*' or a list of replicas in the following format: " +
				"[partitionId]:[brokerId],[partitionId]:[brokerId],..."
		}
	}
	return ""
}
