package kafka

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/offsets"
	"github.com/godwitmq/godwit/kafka/internal/deadletter"
)

func newTestRedrive(t *testing.T) *redrive {
	return &redrive{
		b: newTestBackend(t, Options{}), ch: driver.Channel{Queue: "orders", DeadLetter: true},
		topic: topic{name: "orders.orders.dlq"}, group: "orders.orders.dlq",
		targets: map[string]error{"orders": nil, "events": nil, "closed": kerr.TopicAuthorizationFailed},
		logs:    map[int32]*deadLog{},
	}
}

// A letter is published to the topic in its headers, or to the channel's own topic if it has no such header. It is
// published without the headers of its death. A topic that was refused before is refused again without a request.
func TestTheTargetOfALetter(t *testing.T) {
	r := newTestRedrive(t)
	for from, want := range map[string]string{
		"": "orders", "events": "events", "closed": "authoriz", "orders.orders.dlq": "dead letters' own topic",
	} {
		letter := &kgo.Record{Key: []byte("k"), Headers: []kgo.RecordHeader{{Key: "own"}}}
		if from != "" {
			letter = deadletter.Copy(&kgo.Record{Topic: from, Key: []byte("k"), Headers: letter.Headers}, "orders",
				&driver.Death{Error: "no"}, 1)
		}
		got, err := r.restored(t.Context(), letter)
		switch {
		case err != nil:
			if !strings.Contains(strings.ToLower(err.Error()), want) {
				t.Errorf("from topic %q: error %v, want %q", from, err, want)
			}
		case got.Topic != want || string(got.Key) != "k":
			t.Errorf("from topic %q: published to %s with key %q, want %s", from, got.Topic, got.Key, want)
		default:
			for _, h := range got.Headers {
				if strings.HasPrefix(h.Key, "__dlq") {
					t.Errorf("from topic %q: header %s of the death is published", from, h.Key)
				}
			}
		}
	}
}

// The report counts all refused letters, and the error names the first.
func TestRefusedLetters(t *testing.T) {
	r := newTestRedrive(t)
	for o := range int64(3) {
		r.refuse(letter{record: &kgo.Record{Topic: "orders.orders.dlq", Offset: o}}, kerr.MessageTooLarge)
	}
	if r.report.Left != 3 || !strings.Contains(r.refused.Error(), "orders.orders.dlq/0/0 stays") {
		t.Errorf("%d letters stay, error %v", r.report.Left, r.refused)
	}
}

// The answer to a commit decides for each partition: stored, to be repeated with shorter metadata, or an error.
func TestTheAnswerToARedrivesCommit(t *testing.T) {
	for _, c := range []struct {
		code     error
		stored   bool
		tooLarge bool
		says     string
	}{
		{code: nil, stored: true},
		{code: kerr.OffsetMetadataTooLarge, tooLarge: true},
		{code: kerr.RebalanceInProgress, says: "stop it first"},
		{code: kerr.GroupAuthorizationFailed, says: "commit partition 0"},
	} {
		r := newTestRedrive(t)
		g := &deadLog{tracker: offsets.New(redrivePlaces)}
		g.tracker.Start(0, "")
		seq, _, _ := g.tracker.Admit(0, 0, nil)
		g.tracker.Finish(seq)
		r.logs[0] = g
		commit, _ := g.tracker.Commit()
		answers := kadm.OffsetResponses{}
		answers.Add(kadm.OffsetResponse{Offset: kadm.Offset{Topic: r.topic.name}, Err: c.code})
		tooLarge, err := r.committed(map[int32]offsets.Commit{0: commit}, answers)
		if _, again := g.tracker.Commit(); again == c.stored || tooLarge != c.tooLarge {
			t.Errorf("%v: stored %v, too large %v", c.code, !again, tooLarge)
		}
		if (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) ||
			err != nil && !errors.Is(err, c.code) {
			t.Errorf("%v: error %v, want one with %q", c.code, err, c.says)
		}
	}
	if _, err := newTestRedrive(t).committed(map[int32]offsets.Commit{0: {}}, nil); err == nil {
		t.Error("a partition without an answer is no error")
	}
}
