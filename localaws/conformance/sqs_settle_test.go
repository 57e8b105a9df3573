package conformance

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

func TestSQSDeleteMessage(t *testing.T) {
	run(t, "deletes, and once more is fine", func(w *world) {
		url := w.queue("q", attrs{"VisibilityTimeout": "1"})
		w.send(url, "x")
		m := w.one(url)
		w.remove(url, m)
		w.remove(url, m)
		w.pass(2 * time.Second)
		w.nothing(url)
	})
	run(t, "an expired handle still deletes while nobody received the message since", func(w *world) {
		url := w.queue("q", attrs{"VisibilityTimeout": "1"})
		w.send(url, "x")
		m := w.one(url)
		w.pass(2 * time.Second)
		w.remove(url, m)
		w.nothing(url)
	})
	run(t, "a superseded handle is accepted and deletes nothing", func(w *world) {
		url := w.queue("q", attrs{"VisibilityTimeout": "1"})
		w.send(url, "x")
		old := w.one(url)
		w.pass(2 * time.Second)
		w.one(url)
		w.remove(url, old)
		w.pass(2 * time.Second)
		w.one(url)
	})
	run(t, "no handle, and one that is none", func(w *world) {
		url := w.queue("q", nil)
		w.refused(w.removing(url, aws.String("")), missingParameter,
			"The request must contain the parameter ReceiptHandle.")
		err := w.removing(url, aws.String("garbage"))
		w.refused(err, badHandle, `The input receipt handle "garbage" is not a valid receipt handle.`)
		if status(err) != 404 {
			w.Errorf("status %d, want 404", status(err))
		}
		other := w.queue("r", nil)
		w.send(other, "x")
		w.refused(w.removing(url, w.one(other).ReceiptHandle), badHandle, "is not a valid receipt handle.")
	})
}

func TestSQSChangeMessageVisibility(t *testing.T) {
	run(t, "zero makes visible at once, more hides from now on", func(w *world) {
		url := w.queue("q", attrs{"VisibilityTimeout": "4"})
		w.send(url, "x")
		m := w.one(url)
		w.pass(3 * time.Second)
		if err := w.change(url, m, 4); err != nil {
			w.Fatal(err)
		}
		w.pass(2 * time.Second)
		w.nothing(url)
		if err := w.change(url, m, 0); err != nil {
			w.Fatal(err)
		}
		w.one(url)
	})
	run(t, "an expired handle still hides the message again", func(w *world) {
		url := w.queue("q", attrs{"VisibilityTimeout": "1"})
		w.send(url, "x")
		m := w.one(url)
		w.pass(2 * time.Second)
		if err := w.change(url, m, 4); err != nil {
			w.Fatal(err)
		}
		w.nothing(url)
		w.pass(4 * time.Second)
		w.one(url)
	})
	run(t, "twelve hours in all, counted from the receive", func(w *world) {
		url := w.queue("q", nil)
		w.send(url, "x")
		m := w.one(url)
		w.pass(300 * time.Millisecond)
		if err := w.change(url, m, 43200); err != nil {
			w.Error(err)
		}
		w.refused(w.change(url, m, 43201), invalidParameter,
			"Value 43201 for parameter VisibilityTimeout is invalid. Reason: VisibilityTimeout must be an integer "+
				"between 0 and 43200")
		w.refused(w.change(url, m, -1), invalidParameter, "VisibilityTimeout must be an integer between 0 and 43200")
		w.pass(time.Hour)
		w.refused(w.change(url, m, 43200), invalidParameter,
			"Value 43200 for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message "+
				"is beyond the limit [43200 seconds]")
		if err := w.change(url, m, 39600); err != nil {
			w.Error(err)
		}
	})
	run(t, "of a message that is gone", func(w *world) {
		url := w.queue("q", nil)
		w.send(url, "x")
		m := w.one(url)
		const text = "for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for " +
			"visibility timeout change."
		w.remove(url, m)
		w.refused(w.change(url, m, 5), invalidParameter, text)
	})
	run(t, "no handle, no timeout, and a handle that is none", func(w *world) {
		url := w.queue("q", nil)
		for body, want := range map[string]string{
			`{"QueueUrl":"` + *url +
				`","VisibilityTimeout":1}`: "The request must contain the parameter ReceiptHandle.",
			`{"QueueUrl":"` + *url +
				`","ReceiptHandle":"x"}`: "The request must contain the parameter VisibilityTimeout.",
			`{"QueueUrl":"` + *url +
				`","ReceiptHandle":"x","VisibilityTimeout":"y"}`: "STRING_VALUE can not be converted to an Integer",
			`{"ReceiptHandle":"x","VisibilityTimeout":1}`: "The request must contain the " +
				"parameter QueueUrl.",
			`{"QueueUrl":"` + *url + `","ReceiptHandle":"x","VisibilityTimeout":1}`: "is not a valid receipt handle.",
		} {
			code, _, answer := w.json("ChangeMessageVisibility", body)
			if code < 400 || !contains(answer, want) {
				w.Errorf("%s\n%d %s\nwant %s", body, code, answer, want)
			}
		}
	})
}
