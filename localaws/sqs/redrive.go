package sqs

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/wire"
)

// redrive is a parsed RedrivePolicy.
type redrive struct {
	target string // ARN
	max    int
	given  string // as it was written, for error texts
}

// maxReceives is the largest maxReceiveCount.
const maxReceives = 1000

// setRedrive parses a policy. Its target is checked later, where the other queues are known.
func setRedrive(s *settings, text string) *wire.Error {
	if text == "" {
		s.redrive = nil
		return nil
	}
	bad := func(reason string) *wire.Error { return invalidValue(text, "RedrivePolicy", reason) }
	var fields map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if decodeWhole(d, &fields) != nil || fields == nil {
		return invalidAttribute("RedrivePolicy", "Redrive policy is not a valid JSON map.")
	}
	for _, name := range []string{"maxReceiveCount", "deadLetterTargetArn"} {
		if _, there := fields[name]; !there {
			return bad("Redrive policy does not contain mandatory attribute: " + name + ".")
		}
	}
	for name := range fields {
		if name != "maxReceiveCount" && name != "deadLetterTargetArn" {
			return bad("Only following attributes are supported: [maxReceiveCount, deadLetterTargetArn].")
		}
	}
	count := scalar(fields["maxReceiveCount"])
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || n > maxReceives {
		return bad("Invalid value for maxReceiveCount: " + count + ", valid values are from 1 to 1000 both inclusive.")
	}
	target, _ := fields["deadLetterTargetArn"].(string)
	if parts := strings.Split(target, ":"); len(parts) != 6 || parts[0] != "arn" || parts[5] == "" {
		return bad("Invalid value for deadLetterTargetArn.")
	} else if parts[2] != "sqs" {
		return bad("Only SQS queues are valid resources for deadLetterTargetArn.")
	}
	s.redrive = &redrive{target: target, max: n, given: text}
	return nil
}

// scalar returns a JSON scalar as it was written.
func scalar(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

func showRedrive(_ *Queue, s *settings, _ queue.Stats) (string, bool) {
	if s.redrive == nil {
		return "", false
	}
	return s.redrive.String(), true
}

func (r *redrive) String() string {
	return `{"deadLetterTargetArn":"` + r.target + `","maxReceiveCount":` + strconv.Itoa(r.max) + `}`
}

// redriveAllow is a parsed RedriveAllowPolicy.
type redriveAllow struct {
	permission string
	sources    []string
	text       string
}

// maxSources is the most source queues in a byQueue policy.
const maxSources = 10

func setRedriveAllow(s *settings, text string) *wire.Error {
	if text == "" {
		s.redriveAllow = nil
		return nil
	}
	var p struct {
		Permission *string  `json:"redrivePermission"`
		Sources    []string `json:"sourceQueueArns"`
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	const format = "Amazon SQS can't create the redrive allow policy, as it’s in an unsupported format."
	if decodeWhole(d, &p) != nil || p.Permission == nil ||
		!slices.Contains([]string{"allowAll", "denyAll", "byQueue"}, *p.Permission) {
		return invalidAttribute("RedriveAllowPolicy", format)
	}
	bad := func(reason string) *wire.Error {
		return invalidValue(text, "RedriveAllowPolicy", "Amazon SQS can't create the redrive allow policy. "+reason)
	}
	switch {
	case *p.Permission == "byQueue" && len(p.Sources) == 0:
		return bad("When you specify the byQueue permission type, you must also specify one or more sourceQueueArns " +
			"values.")
	case *p.Permission != "byQueue" && p.Sources != nil:
		return bad("To specify one or more source queue ARNs, you must set redrivePermission to byQueue.")
	case len(p.Sources) > maxSources:
		return bad("The maximum number of source queue ARNs you can specify is 10.")
	}
	s.redriveAllow = &redriveAllow{permission: *p.Permission, sources: p.Sources, text: compact(text)}
	return nil
}

func compact(text string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) != nil {
		return text
	}
	return b.String()
}

func showRedriveAllow(_ *Queue, s *settings, _ queue.Stats) (string, bool) {
	if s.redriveAllow == nil {
		return "", false
	}
	return s.redriveAllow.text, true
}

// permits reports whether the queue with an ARN may have its dead letters here.
func (p *redriveAllow) permits(source string) bool {
	return p == nil || p.permission == "allowAll" || p.permission == "byQueue" && slices.Contains(p.sources, source)
}

// checkTarget checks whether a queue's dead letters may go to the target of its policy.
func checkTarget(s *Service, set *settings, name string) *wire.Error {
	r := set.redrive
	if r == nil {
		return nil
	}
	bad := func(reason string) *wire.Error { return invalidValue(r.given, "RedrivePolicy", reason) }
	target := s.byARN(r.target)
	switch {
	case isFIFO(r.target) != isFIFO(name):
		return bad("Dead-letter queue must be same type of queue as the source..") // two full stops, as on AWS
	case target == nil:
		return bad("Dead letter target does not exist.")
	case !target.settings.Load().redriveAllow.permits(s.arn(name)):
		return bad("Queue with redriveAllowPolicy does not permit " + s.arn(name) +
			" to use it as a dead-letter queue.")
	}
	return nil
}
