package kafkalocal

import (
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// aheadMax is the broker's own bound on timestamps in the future.
const aheadMax = time.Hour

// produce refuses records with timestamps in the future and those of replaced producers, and sets its own time in the
// records of topics that want this.
func (r *refuser) produce(req *kmsg.ProduceRequest) answer {
	now := time.Now()
	for i := range req.Topics {
		t := &req.Topics[i]
		clock := r.clockOf(t)
		var late, fenced []int32
		for j := range t.Partitions {
			p := &t.Partitions[j]
			if len(p.Records) < batchHeader {
				continue // kfake reports what is wrong with it
			}
			if r.epochs.stale(p.Records) {
				fenced = append(fenced, p.Partition)
				continue
			}
			if clock.own {
				p.Records = stamped(p.Records, now)
			} else if newest(p.Records) > now.Add(clock.ahead).UnixMilli() {
				late = append(late, p.Partition)
			}
		}
		if fenced != nil {
			r.fail(req, kerr.InvalidProducerEpoch, kfake.Fault{Topic: t.Topic, TopicID: t.TopicID, Partitions: fenced})
		}
		if late != nil {
			r.fail(req, kerr.InvalidTimestamp, kfake.Fault{Topic: t.Topic, TopicID: t.TopicID, Partitions: late})
		}
	}
	return answer{}
}

// clock says what happens to the timestamps of a topic's records.
type clock struct {
	own   bool          // the broker's time replaces them
	ahead time.Duration // otherwise: how far ahead of the broker's time they may be
}

// clockOf reads the topic's configs, then the broker's.
func (r *refuser) clockOf(t *kmsg.ProduceRequestTopic) clock {
	var configs map[string]*string
	if info := r.topic(t); info != nil {
		configs = info.Configs
	}
	config := func(ofTopic, ofBroker string) string {
		if v := configs[ofTopic]; v != nil {
			return strings.TrimSpace(*v)
		}
		return r.config[ofBroker]
	}
	c := clock{
		own:   config("message.timestamp.type", "log.message.timestamp.type") == "LogAppendTime",
		ahead: aheadMax,
	}
	ms, err := strconv.ParseInt(config("message.timestamp.after.max.ms", "log.message.timestamp.after.max.ms"), 10, 64)
	if err == nil {
		c.ahead = min(time.Duration(ms), longest/time.Millisecond) * time.Millisecond
	}
	return c
}

// longest can be added to any current time without an overflow.
const longest = 100 * 365 * 24 * time.Hour

func (r *refuser) topic(t *kmsg.ProduceRequestTopic) *kfake.TopicInfo {
	if t.Topic != "" {
		return r.TopicInfo(t.Topic)
	}
	return r.TopicIDInfo(t.TopicID)
}

// newest returns the latest timestamp of a batch, in milliseconds.
func newest(batch []byte) int64 {
	return int64(binary.BigEndian.Uint64(batch[batchMaxTime:]))
}
