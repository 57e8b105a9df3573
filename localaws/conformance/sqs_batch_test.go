package conformance

import (
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func contains(text, part string) bool {
	return strings.Contains(strings.ReplaceAll(text, `\"`, `"`), part)
}

// failures compares the failed entries of a batch.
func (w *world) failures(got []types.BatchResultErrorEntry, want ...types.BatchResultErrorEntry) {
	w.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(types.BatchResultErrorEntry{})); diff != "" {
		w.Errorf("failed (-want +got):\n%s", diff)
	}
}

func failure(id, code, text string) types.BatchResultErrorEntry {
	return types.BatchResultErrorEntry{Id: &id, Code: &code, Message: &text, SenderFault: true}
}

func entry(id, body string) types.SendMessageBatchRequestEntry {
	return types.SendMessageBatchRequestEntry{Id: &id, MessageBody: &body}
}

func TestSQSSendMessageBatch(t *testing.T) {
	send := func(w *world, url *string, entries ...types.SendMessageBatchRequestEntry) (*sqs.SendMessageBatchOutput,
		error,
	) {
		return w.sqs.SendMessageBatch(w.ctx, &sqs.SendMessageBatchInput{QueueUrl: url, Entries: entries})
	}
	run(t, "each entry is answered by its id", func(w *world) {
		url := w.queue("q", nil)
		full := entry("full", "x")
		full.MessageAttributes = map[string]types.MessageAttributeValue{
			"a": str("b"),
			"c": {DataType: aws.String("Binary"), BinaryValue: []byte{1}},
		}
		full.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: aws.String("String"), StringValue: aws.String("t")},
		}
		full.MessageGroupId = aws.String("tenant")
		late := entry("late", "y")
		late.DelaySeconds = 900
		out := must(send(w, url, full, late, entry("plain", "z")))(w)
		if len(out.Successful) != 3 || len(out.Failed) != 0 {
			w.Fatalf("successful %v, failed %v", out.Successful, out.Failed)
		}
		for i, id := range []string{"full", "late", "plain"} {
			if s := out.Successful[i]; *s.Id != id || s.MD5OfMessageBody == nil ||
				(s.MD5OfMessageAttributes != nil) != (id == "full") ||
				(s.MD5OfMessageSystemAttributes != nil) != (id == "full") {
				w.Errorf("entry %d: %v", i, s)
			}
		}
		if got := w.receive(url); len(got) != 2 {
			w.Errorf("received %v", bodies(got))
		}
	})
	run(t, "an entry that breaks a rule fails alone", func(w *world) {
		url := w.queue("q", attrs{"MaximumMessageSize": "1024"})
		late, twice, listed, binary, system, binaries := entry("late", "x"), entry("twice", "x"), entry("listed",
			"x"), entry("binary", "x"), entry("system", "x"), entry("binaries", "x")
		late.DelaySeconds = 901
		twice.MessageDeduplicationId = aws.String("d")
		listed.MessageAttributes = map[string]types.MessageAttributeValue{"a": {
			DataType:         aws.String("String"),
			StringListValues: []string{"x"},
		}}
		binary.MessageAttributes = map[string]types.MessageAttributeValue{"a": {
			DataType:         aws.String("Binary"),
			BinaryListValues: [][]byte{{1}},
		}}
		system.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: aws.String("Binary"), BinaryValue: []byte{1}, StringListValues: []string{"x"}},
		}
		binaries.MessageSystemAttributes = map[string]types.MessageSystemAttributeValue{
			"AWSTraceHeader": {DataType: aws.String("Binary"), BinaryListValues: [][]byte{{1}}},
		}
		out := must(send(w, url, entry("good", "x"), late, twice, listed, binary, system, binaries,
			entry("odd", "\x01"), entry("big", strings.Repeat("a", 1025)), entry("empty", "")))(w)
		const lists = "Message attribute list values in SendMessage operation are not supported."
		const trace = "Message system attribute 'AWSTraceHeader' must contain a non-empty value of type 'String'."
		w.failures(out.Failed,
			failure("late", invalidParameter,
				"Value 901 for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= 900."),
			failure("twice", invalidParameter,
				"Value d for parameter MessageDeduplicationId is invalid. Reason: The request include parameter that "+
					"is not valid for this queue type."),
			failure("listed", invalidParameter, lists), failure("binary", invalidParameter, lists),
			failure("system", invalidParameter, trace), failure("binaries", invalidParameter, trace),
			failure("odd", badContents,
				"Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to "+
					"#xFFFD | #x10000 to #x10FFFF"),
			failure("big", invalidParameter,
				"One or more parameters cannot be validated. Reason: Message must be shorter than 1024 bytes."),
			failure("empty", missingParameter,
				"The request must contain the parameter SendMessageBatchRequestEntry.10.MessageBody."),
		)
		if len(out.Successful) != 1 || *out.Successful[0].Id != "good" {
			w.Errorf("successful %v", out.Successful)
		}
	})
	run(t, "a batch as a whole keeps to the rules or is refused", func(w *world) {
		url := w.queue("q", nil)
		_, err := send(w, url, []types.SendMessageBatchRequestEntry{}...)
		if err == nil {
			w.Error("no entries: accepted")
		}
		_, _, body := w.json("SendMessageBatch", `{"QueueUrl":"`+*url+`","Entries":[]}`)
		if !contains(body, "com.amazonaws.sqs#EmptyBatchRequest") ||
			!contains(body, "There should be at least one SendMessageBatchRequestEntry in the request.") {
			w.Errorf("empty: %s", body)
		}
		_, _, body = w.json("SendMessageBatch", `{"QueueUrl":"`+*url+`"}`)
		if !contains(body, "The request must contain the parameter Entries.") {
			w.Errorf("none: %s", body)
		}
		var many []types.SendMessageBatchRequestEntry
		for i := range 20 {
			many = append(many, entry(strconv.Itoa(i), "x"))
		}
		_, err = send(w, url, many...)
		w.refused(err, "AWS.SimpleQueueService.TooManyEntriesInBatchRequest",
			"Maximum number of entries per request are 10. You have sent 20.")
		_, err = send(w, url, entry("a", "x"), entry("a", "y"))
		w.refused(err, "AWS.SimpleQueueService.BatchEntryIdsNotDistinct", "Id a repeated.")
		for _, id := range []string{"", "a b", "invalid:id", "é", strings.Repeat("x", 81)} {
			_, err = send(w, url, entry(id, "x"))
			w.refused(err, "AWS.SimpleQueueService.InvalidBatchEntryId",
				"A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at "+
					"most 80 letters long.")
		}
		half := strings.Repeat("a", 1<<19)
		if _, err = send(w, url, entry("a", half), entry("b", half)); err != nil {
			w.Errorf("a megabyte in all: %v", err)
		}
		_, err = send(w, url, entry("a", half), entry("b", half+"a"))
		w.refused(err, "AWS.SimpleQueueService.BatchRequestTooLong",
			"Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.")
	})
	run(t, "the queue's largest message does not bound the batch", func(w *world) {
		url := w.queue("q", attrs{"MaximumMessageSize": "1024"})
		out := must(send(w, url, entry("a", strings.Repeat("a", 1024)), entry("b", strings.Repeat("b", 1024))))(w)
		if len(out.Successful) != 2 {
			w.Errorf("failed %v", out.Failed)
		}
	})
}

func TestSQSDeleteAndChangeBatch(t *testing.T) {
	run(t, "each entry is answered by its id", func(w *world) {
		url := w.queue("q", nil)
		for _, b := range []string{"1", "2"} {
			w.send(url, b)
		}
		got := append(w.receive(url), w.receive(url)...)
		if len(got) != 2 {
			w.Fatalf("received %v", bodies(got))
		}
		changed := must(w.sqs.ChangeMessageVisibilityBatch(w.ctx, &sqs.ChangeMessageVisibilityBatchInput{
			QueueUrl: url,
			Entries: []types.ChangeMessageVisibilityBatchRequestEntry{
				{Id: aws.String("a"), ReceiptHandle: got[0].ReceiptHandle, VisibilityTimeout: 0},
				{Id: aws.String("b"), ReceiptHandle: got[1].ReceiptHandle, VisibilityTimeout: 43201},
				{Id: aws.String("c"), ReceiptHandle: aws.String("garbage"), VisibilityTimeout: 1},
				{Id: aws.String("d"), ReceiptHandle: aws.String(""), VisibilityTimeout: 1},
			},
		}))(w)
		if len(changed.Successful) != 1 || *changed.Successful[0].Id != "a" {
			w.Errorf("changed %v", changed.Successful)
		}
		w.failures(changed.Failed,
			failure("b", invalidParameter,
				"Value 43201 for parameter VisibilityTimeout is invalid. Reason: VisibilityTimeout must be an "+
					"integer between 0 and 43200"),
			failure("c", badHandle, `The input receipt handle "garbage" is not a valid receipt handle.`),
			failure("d", missingParameter, "The request must contain the parameter ReceiptHandle."))
		again := w.one(url)
		deleted := must(w.sqs.DeleteMessageBatch(w.ctx, &sqs.DeleteMessageBatchInput{
			QueueUrl: url,
			Entries: []types.DeleteMessageBatchRequestEntry{
				{Id: aws.String("a"), ReceiptHandle: again.ReceiptHandle},
				{Id: aws.String("b"), ReceiptHandle: got[1].ReceiptHandle},
				{Id: aws.String("c"), ReceiptHandle: aws.String("garbage")},
				{Id: aws.String("d"), ReceiptHandle: aws.String("")},
			},
		}))(w)
		if len(deleted.Successful) != 2 {
			w.Errorf("deleted %v", deleted.Successful)
		}
		w.failures(deleted.Failed,
			failure("c", badHandle, `The input receipt handle "garbage" is not a valid receipt handle.`),
			failure("d", missingParameter, "The request must contain the parameter ReceiptHandle."))
		if n := w.attribute(url, "ApproximateNumberOfMessagesNotVisible"); w.local != nil && n != "0" {
			w.Errorf("%s still in flight", n)
		}
	})
	run(t, "the rules of a batch hold for all of them", func(w *world) {
		url := w.queue("q", nil)
		for _, action := range []string{"DeleteMessageBatch", "ChangeMessageVisibilityBatch"} {
			for entries, want := range map[string]string{
				`[]`: "There should be at least one " + action + "RequestEntry in the request.",
				`[{"Id":"a","ReceiptHandle":"x"},{"Id":"a","ReceiptHandle":"x"}]`: "Id a repeated.",
				`[{"Id":"","ReceiptHandle":"x"}]`:                                 "A batch entry id can only contain",
				`[` + strings.Repeat(`{"Id":"a","ReceiptHandle":"x"},`,
					10) + `{"Id":"b","ReceiptHandle":"x"}]`: "Maximum number of entries per request are 10. You have " +
					"sent 11.",
			} {
				if _, _, body := w.json(action, `{"QueueUrl":"`+*url+`","Entries":`+entries+`}`); !contains(body,
					want) {
					w.Errorf("%s %s\n%s\nwant %s", action, entries, body, want)
				}
			}
		}
	})
}
