package sqs

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/godwitmq/godwit/localaws/sqs/queue"
	"github.com/godwitmq/godwit/localaws/wire"
)

// attribute describes one attribute of a queue: how it is set and how it is shown.
type attribute struct {
	name string
	fifo bool // FIFO queues only
	// set reads a value; nil: the attribute cannot be set.
	set func(*settings, string) *wire.Error
	// show writes the value; false: the queue does not have the attribute.
	show func(*Queue, *settings, queue.Stats) (string, bool)
}

// attributes lists all attributes, in the order in which they are checked and shown.
func attributes() []attribute {
	return []attribute{
		{name: "QueueArn", show: func(q *Queue, _ *settings, _ queue.Stats) (string, bool) { return q.arn, true }},
		count("ApproximateNumberOfMessages", func(s queue.Stats) int { return s.Visible }),
		count("ApproximateNumberOfMessagesNotVisible", func(s queue.Stats) int { return s.InFlight }),
		count("ApproximateNumberOfMessagesDelayed", func(s queue.Stats) int { return s.Delayed }),
		moment("CreatedTimestamp", func(s *settings) int64 { return s.created.Unix() }),
		moment("LastModifiedTimestamp", func(s *settings) int64 { return s.modified.Unix() }),
		number("VisibilityTimeout", 0, 43_200, func(s *settings) *int { return &s.visibility }),
		number("MaximumMessageSize", 1024, maxMessage, func(s *settings) *int { return &s.maxSize }),
		number("MessageRetentionPeriod", 60, 1_209_600, func(s *settings) *int { return &s.retention }),
		number("DelaySeconds", 0, 900, func(s *settings) *int { return &s.delay }),
		number("ReceiveMessageWaitTimeSeconds", 0, 20, func(s *settings) *int { return &s.wait }),
		{name: "Policy", set: setPolicy, show: showPolicy},
		{name: "RedrivePolicy", set: setRedrive, show: showRedrive},
		{name: "RedriveAllowPolicy", set: setRedriveAllow, show: showRedriveAllow},
		{
			name: "FifoQueue", fifo: true, set: func(_ *settings, v string) *wire.Error { return setFIFO(v) },
			show: showFIFO,
		},
		{name: "ContentBasedDeduplication", fifo: true, set: setContentDedup, show: fifoOnly(func(s *settings) string {
			return strconv.FormatBool(s.contentDedup)
		})},
		choice("DeduplicationScope", func(s *settings) *string { return &s.dedupScope }, "messageGroup", "queue"),
		choice("FifoThroughputLimit", func(s *settings) *string { return &s.throughputLimit }, "perMessageGroupId",
			"perQueue"),
		{name: "KmsMasterKeyId", set: setKMSKey, show: func(_ *Queue, s *settings, _ queue.Stats) (string, bool) {
			return s.kmsKey, s.kmsKey != ""
		}},
		kmsReuse(),
		{
			name: "SqsManagedSseEnabled", set: setManagedSSE,
			show: func(_ *Queue, s *settings, _ queue.Stats) (string, bool) {
				return strconv.FormatBool(s.managedSSE), true
			},
		},
	}
}

func findAttribute(name string) (attribute, bool) {
	all := attributes()
	i := slices.IndexFunc(all, func(a attribute) bool { return a.name == name })
	if i < 0 {
		return attribute{}, false
	}
	return all[i], true
}

func count(name string, of func(queue.Stats) int) attribute {
	return attribute{name: name, show: func(_ *Queue, _ *settings, s queue.Stats) (string, bool) {
		return strconv.Itoa(of(s)), true
	}}
}

func moment(name string, of func(*settings) int64) attribute {
	return attribute{name: name, show: func(_ *Queue, s *settings, _ queue.Stats) (string, bool) {
		return strconv.FormatInt(of(s), 10), true
	}}
}

// number returns an attribute whose value is an integer within bounds.
func number(name string, low, high int, of func(*settings) *int) attribute {
	return attribute{
		name: name,
		set: func(s *settings, v string) *wire.Error {
			n, err := strconv.Atoi(v)
			if err != nil || n < low || n > high {
				return invalidAttribute(name, "")
			}
			*of(s) = n
			return nil
		},
		show: func(_ *Queue, s *settings, _ queue.Stats) (string, bool) { return strconv.Itoa(*of(s)), true },
	}
}

func fifoOnly(text func(*settings) string) func(*Queue, *settings, queue.Stats) (string, bool) {
	return func(q *Queue, s *settings, _ queue.Stats) (string, bool) { return text(s), q.fifo }
}

// choice returns an attribute of a FIFO queue whose value is one of several words.
func choice(name string, of func(*settings) *string, words ...string) attribute {
	return attribute{
		name: name, fifo: true,
		set: func(s *settings, v string) *wire.Error {
			if !slices.Contains(words, v) {
				return invalidAttribute(name, "")
			}
			*of(s) = v
			return nil
		},
		show: fifoOnly(func(s *settings) string { return *of(s) }),
	}
}

func showFIFO(q *Queue, _ *settings, _ queue.Stats) (string, bool) { return "true", q.fifo }

func setFIFO(v string) *wire.Error {
	if !strings.EqualFold(v, "true") {
		return invalidAttribute("FifoQueue", "Modifying queue type is not supported.")
	}
	return nil
}

func setContentDedup(s *settings, v string) *wire.Error {
	on, err := readBool("ContentBasedDeduplication", v)
	s.contentDedup = on
	return err
}

// setKMSKey accepts any key: AWS checks that it exists only when it is used. Setting a key turns off SQS's own
// encryption.
func setKMSKey(s *settings, v string) *wire.Error {
	s.kmsKey = v
	if v != "" {
		s.managedSSE = false
	}
	return nil
}

// kmsReuse returns an attribute that is shown only if there is a key.
func kmsReuse() attribute {
	a := number("KmsDataKeyReusePeriodSeconds", 60, 86_400, func(s *settings) *int { return &s.kmsReuse })
	text := a.show
	a.show = func(q *Queue, s *settings, n queue.Stats) (string, bool) {
		shown, _ := text(q, s, n)
		return shown, s.kmsKey != ""
	}
	return a
}

func setManagedSSE(s *settings, v string) *wire.Error {
	on, err := readBool("SqsManagedSseEnabled", v)
	s.managedSSE = on
	return err
}

// readBool accepts both cases, as AWS does; AWS shows the value in lower case.
func readBool(name, v string) (bool, *wire.Error) {
	switch strings.ToLower(v) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	default:
		return false, invalidAttribute(name, "")
	}
}

// apply reads the attributes of a request into settings, and checks rules that involve more than one of them.
func apply(s *settings, fifo bool, values map[string]string) *wire.Error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if a, known := findAttribute(name); !known || a.set == nil {
			return unknownAttribute(name)
		}
	}
	for _, a := range attributes() {
		v, given := values[a.name]
		if !given {
			continue
		}
		if a.fifo && !fifo {
			return notOfFIFO(a.name)
		}
		if err := a.set(s, v); err != nil {
			return err
		}
	}
	return s.consistent(values)
}

// notOfFIFO returns the error for a FIFO queue's attribute on a standard queue.
func notOfFIFO(name string) *wire.Error {
	switch name {
	case "FifoQueue", "ContentBasedDeduplication":
		return unknownAttribute(name)
	default:
		return invalidAttributeName("You can specify the %s only when FifoQueue is set to true.", name)
	}
}

func (s *settings) consistent(values map[string]string) *wire.Error {
	if strings.EqualFold(values["SqsManagedSseEnabled"], "true") && values["KmsMasterKeyId"] != "" {
		return invalidAttributeName("You can use one type of server-side encryption (SSE) at one time. " +
			"You can either enable KMS SSE or SQS SSE.")
	}
	if strings.EqualFold(values["SqsManagedSseEnabled"], "true") {
		s.kmsKey = ""
	}
	if s.throughputLimit == "perMessageGroupId" && s.dedupScope != "messageGroup" {
		return invalidParameter("The perMessageGroupId value is allowed only when the value for DeduplicationScope " +
			"is messageGroup")
	}
	return nil
}

// GetQueueAttributesInput is the input of GetQueueAttributes.
type GetQueueAttributesInput struct {
	QueueURL       string   `json:"QueueUrl"`
	AttributeNames []string `json:"AttributeNames" query:"AttributeName,flat"`
}

// GetQueueAttributesOutput is the output of GetQueueAttributes.
type GetQueueAttributesOutput struct {
	Attributes map[string]string `json:"Attributes" query:"Attribute,flat,key=Name,value=Value"`
}

// getQueueAttributes shows nothing if no attribute is asked for, and omits those without a value. Numbers of messages
// are exact here, and approximate on AWS (AWS's API reference, GetQueueAttributes).
func getQueueAttributes(_ call, q *Queue, in *GetQueueAttributesInput) (*GetQueueAttributesOutput, error) {
	wanted := map[string]bool{}
	for _, name := range in.AttributeNames {
		if _, known := findAttribute(name); !known && name != "All" {
			return nil, unknownAttribute(name)
		}
		wanted[name] = true
	}
	out := &GetQueueAttributesOutput{}
	for name, v := range q.Attributes() {
		if wanted["All"] || wanted[name] {
			if out.Attributes == nil {
				out.Attributes = map[string]string{}
			}
			out.Attributes[name] = v
		}
	}
	return out, nil
}

// Attributes returns all attributes of a queue as GetQueueAttributes shows them.
func (q *Queue) Attributes() map[string]string {
	set, stats := q.settings.Load(), q.model.Stats()
	all := map[string]string{}
	for _, a := range attributes() {
		if v, there := a.show(q, set, stats); there {
			all[a.name] = v
		}
	}
	return all
}

// SetQueueAttributesInput is the input of SetQueueAttributes.
type SetQueueAttributesInput struct {
	QueueURL   string            `json:"QueueUrl"`
	Attributes map[string]string `json:"Attributes" query:"Attribute,flat,key=Name,value=Value"`
}

// setQueueAttributes changes the named attributes only. FifoQueue cannot be changed, and a redrive policy whose target
// does not exist is refused (AWS's API reference). AWS takes up to 60 s for a change, and 15 minutes for a retention.
func setQueueAttributes(c call, q *Queue, in *SetQueueAttributesInput) (*Empty, error) {
	if bad := configure(c.at, q, in.Attributes); bad != nil {
		return nil, bad
	}
	return &Empty{}, nil
}

// Configure is SetQueueAttributes without the wire; name may be a name, a URL or an ARN.
func (s *Service) Configure(name string, attributes map[string]string) error {
	q := s.Queue(name)
	if q == nil {
		return noQueue()
	}
	if bad := configure(s, q, attributes); bad != nil {
		return bad
	}
	return nil
}

func configure(s *Service, q *Queue, attributes map[string]string) *wire.Error {
	if len(attributes) == 0 {
		return missing("Attribute.Name")
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	set := *q.settings.Load()
	if bad := apply(&set, q.fifo, attributes); bad != nil {
		return bad
	}
	if _, given := attributes["RedrivePolicy"]; given {
		if bad := checkTarget(s, &set, q.name); bad != nil {
			return bad
		}
	}
	set.modified = s.opts.Clock.Now()
	q.change(func(old *settings) { *old = set })
	return nil
}
