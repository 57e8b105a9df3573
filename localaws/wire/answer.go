package wire

import (
	"net/http"
	"reflect"
	"strconv"
)

// answer writes the response of one request.
type answer struct {
	w         http.ResponseWriter
	buffers   *bufferPool
	requestID string
	protocol  Protocol
	service   *Service
	json      bool  // a query request asks for JSON
	queryMode bool  // a request of another protocol asks for the errors of the query protocol
	limit     int64 // the connection breaks after this many bytes of the body; 0: it does not
}

func (a *answer) succeed(action Action, out any) {
	b := a.buffers.take()
	defer a.buffers.give(b)
	switch a.protocol {
	case CBOR:
		if len(action.output.fields) == 0 && !action.result {
			a.write(http.StatusOK, nil) // the model has no output, so there is no document
			return
		}
		var err error
		if b.bytes, err = appendCBOR(b.bytes, cborValue(action.output, reflect.ValueOf(out).Elem())); err != nil {
			a.fail(asError(err))
			return
		}
	case JSON:
		b.bytes = appendJSON(b.bytes, action.output, reflect.ValueOf(out).Elem())
	default:
		if a.json {
			b.bytes = appendQueryJSON(b.bytes, action, out, a.requestID)
			break
		}
		b.bytes = appendXMLAnswer(b.bytes, a.service, action, out, a.requestID)
	}
	a.write(http.StatusOK, b.bytes)
}

func (a *answer) fail(e *Error) {
	b := a.buffers.take()
	defer a.buffers.give(b)
	if a.protocol != Query {
		a.w.Header()["X-Amzn-Query-Error"] = []string{e.QueryCode() + ";" + e.fault()}
	}
	switch a.protocol {
	case CBOR:
		b.bytes, _ = appendCBOR(b.bytes, map[string]any{
			"__type": e.jsonType(a.service.Namespace), "message": e.Message,
		})
	case JSON:
		b.bytes = append(b.bytes, `{"__type":`...)
		b.bytes = appendJSONString(b.bytes, e.jsonType(a.service.Namespace))
		b.bytes = append(b.bytes, `,"message":`...)
		b.bytes = appendJSONString(b.bytes, e.Message)
		b.bytes = append(b.bytes, '}')
	default:
		if a.json {
			b.bytes = appendQueryJSONError(b.bytes, e, a.requestID)
			break
		}
		b.bytes = appendXMLError(b.bytes, a.service, e, a.requestID)
	}
	status := e.status()
	if e.ModelStatus != 0 && a.protocol != Query && !a.queryMode {
		status = e.ModelStatus
	}
	a.write(status, b.bytes)
}

// refuseBareGet answers a GET without an action, as AWS does whatever the client accepts.
func (a *answer) refuseBareGet() {
	a.json = false
	a.write(http.StatusNotFound, []byte("<UnknownOperationException/>\n"))
}

// write sends the response. An error means that the client has disconnected, so it is ignored.
func (a *answer) write(status int, body []byte) {
	h := a.w.Header()
	values := []string{a.requestID, a.contentType(), strconv.Itoa(len(body))} // one allocation for three headers
	// AWS's spelling, for clients that compare names exactly.
	h["x-amzn-RequestId"] = values[0:1:1]
	if a.protocol == CBOR {
		h["Smithy-Protocol"] = []string{cborName}
	}
	if a.protocol != CBOR || len(body) > 0 {
		h["Content-Type"] = values[1:2:2]
	}
	h["Content-Length"] = values[2:3:3]
	a.w.WriteHeader(status)
	if a.limit > 0 && a.limit < int64(len(body)) {
		_, _ = a.w.Write(body[:a.limit])
		_ = http.NewResponseController(a.w).Flush() // the client gets what comes before the break
		panic(http.ErrAbortHandler)
	}
	_, _ = a.w.Write(body)
}

func (a *answer) contentType() string {
	switch {
	case a.protocol == CBOR:
		return "application/cbor"
	case a.protocol == Query && a.json:
		return "application/json"
	case a.protocol == Query:
		return "text/xml"
	case a.service.JSON == "1.1":
		return "application/x-amz-json-1.1"
	default:
		return "application/x-amz-json-1.0"
	}
}
