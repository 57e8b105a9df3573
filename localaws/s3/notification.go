package s3

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/localaws/rest"
	"github.com/godwitmq/godwit/localaws/s3/bucket"
)

// event is one record of a notification, with AWS's names.
type event struct {
	EventVersion      string            `json:"eventVersion"`
	EventSource       string            `json:"eventSource"`
	AWSRegion         string            `json:"awsRegion"`
	EventTime         string            `json:"eventTime"`
	EventName         string            `json:"eventName"`
	UserIdentity      identity          `json:"userIdentity"`
	RequestParameters map[string]string `json:"requestParameters"`
	ResponseElements  map[string]string `json:"responseElements"`
	S3                eventSubject      `json:"s3"`
}

type identity struct {
	PrincipalID string `json:"principalId"`
}

type eventSubject struct {
	SchemaVersion   string      `json:"s3SchemaVersion"`
	ConfigurationID string      `json:"configurationId"`
	Bucket          eventBucket `json:"bucket"`
	Object          eventObject `json:"object"`
}

type eventBucket struct {
	Name          string   `json:"name"`
	OwnerIdentity identity `json:"ownerIdentity"`
	ARN           string   `json:"arn"`
}

type eventObject struct {
	Key       string `json:"key"`
	Size      *int64 `json:"size,omitempty"`
	ETag      string `json:"eTag,omitempty"`
	Sequencer string `json:"sequencer,omitempty"`
}

// eventNames are the events that happen here.
func eventNames() []string {
	return []string{
		"s3:ObjectCreated:*", "s3:ObjectCreated:Put", "s3:ObjectCreated:Copy",
		"s3:ObjectCreated:CompleteMultipartUpload", "s3:ObjectCreated:Post", "s3:ObjectRemoved:*",
		"s3:ObjectRemoved:Delete", "s3:ObjectRemoved:DeleteMarkerCreated", "s3:LifecycleExpiration:*",
		"s3:LifecycleExpiration:Delete", "s3:LifecycleExpiration:DeleteMarkerCreated", "s3:ObjectTagging:*",
		"s3:ObjectTagging:Put", "s3:ObjectTagging:Delete",
	}
}

// unbuiltEvents are the events of parts of S3 that are not built.
func unbuiltEvents() []string {
	return []string{
		"s3:ObjectRestore:", "s3:Replication:", "s3:ReducedRedundancyLostObject", "s3:ObjectAcl:Put",
		"s3:LifecycleTransition", "s3:IntelligentTiering",
	}
}

const eventTime = "2006-01-02T15:04:05.000Z"

// notify reports an object that was written.
func (s *Service) notify(c *rest.Call, b *bucket.Bucket, name string, o *bucket.Object) {
	size := o.Size()
	about := eventObject{Key: encoder(true).text(o.Key), Size: &size, ETag: o.ETag, Sequencer: sequencer(o.Sequence)}
	if strings.HasPrefix(name, "ObjectTagging:") {
		about.Size, about.Sequencer = nil, ""
	}
	s.report(c, b, name, o.Key, about)
}

// notifyRemoved reports an object that was removed.
func (s *Service) notifyRemoved(c *rest.Call, b *bucket.Bucket, name string, gone bucket.Deleted) {
	s.report(c, b, name, gone.Key,
		eventObject{Key: encoder(true).text(gone.Key), Sequencer: sequencer(gone.Sequence)})
}

// sequencer orders the events of a key.
func sequencer(n uint64) string { return fmt.Sprintf("%018X", n) }

// report sends an event to every destination that wants it.
func (s *Service) report(c *rest.Call, b *bucket.Bucket, name, key string, about eventObject) {
	for _, n := range b.Settings().Notifications {
		if !wants(n, name, key) {
			continue
		}
		trace := ""
		if c != nil {
			trace = c.Trace
		}
		body := asJSON(map[string]any{"Records": []event{newEvent(c, s.opts.Clock.Now(), b, n.ID, name, about)}})
		if err := s.opts.Destinations.Deliver(n.Destination, origin(b), body, trace); err != nil {
			s.log.Warn("s3: a notification was not delivered", "bucket", b.Name(), "key", key, "event", name,
				"destination", n.Destination, "error", err)
		}
	}
}

func newEvent(c *rest.Call, now time.Time, b *bucket.Bucket, id, name string, about eventObject) event {
	e := event{
		EventVersion: "2.1", EventSource: "aws:s3", AWSRegion: b.Region(),
		EventTime: now.UTC().Format(eventTime), EventName: name,
		UserIdentity:      identity{"s3.amazonaws.com"},
		RequestParameters: map[string]string{"sourceIPAddress": "s3.amazonaws.com"},
		ResponseElements:  map[string]string{},
		S3: eventSubject{
			SchemaVersion: "1.0", ConfigurationID: id, Object: about,
			Bucket: eventBucket{Name: b.Name(), OwnerIdentity: identity{b.Account()}, ARN: arnOf(b)},
		},
	}
	if c != nil {
		e.UserIdentity = identity{"AWS:" + b.Account()}
		e.RequestParameters["sourceIPAddress"] = c.Source
		if c.Source == "" {
			e.RequestParameters["sourceIPAddress"] = "127.0.0.1" // in process
		}
		e.ResponseElements = map[string]string{"x-amz-request-id": c.RequestID, "x-amz-id-2": c.HostID}
	}
	if strings.HasPrefix(name, "ObjectTagging:") || strings.HasPrefix(name, "LifecycleExpiration:") {
		e.EventVersion = "2.3"
	}
	return e
}

func origin(b *bucket.Bucket) Origin { return Origin{arnOf(b), b.Account()} }

// wants reports whether a notification selects an event.
func wants(n bucket.Notification, name, key string) bool {
	if !strings.HasPrefix(key, n.Prefix) || !strings.HasSuffix(key, n.Suffix) {
		return false
	}
	return slices.ContainsFunc(n.Events, func(e string) bool {
		e = strings.TrimPrefix(e, "s3:")
		family, all := strings.CutSuffix(e, "*")
		return e == name || all && strings.HasPrefix(name, family)
	})
}

// sendTest sends the message with which AWS tests a destination.
func sendTest(c call, b *bucket.Bucket, destination string) error {
	return c.at.opts.Destinations.Deliver(destination, origin(b), asJSON(map[string]string{
		"Service": "Amazon S3", "Event": "s3:TestEvent", "Time": c.at.opts.Clock.Now().UTC().Format(eventTime),
		"Bucket": b.Name(), "RequestId": c.RequestID, "HostId": c.HostID,
	}), "")
}

// asJSON writes a value that cannot fail to be written.
func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("s3: write %T as JSON: %v", v, err))
	}
	return string(text)
}
