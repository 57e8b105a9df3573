package jq

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	"github.com/itchyny/gojq"
)

// Expression is an expression on a body in JSON.
type Expression struct {
	code   *gojq.Code
	within context.Context // ends it as well as its time
}

// Parse reads the value of a flag. The error says where the expression is wrong. When ctx ends, so does the expression,
// with its cause.
func Parse(ctx context.Context, flag, text string) (*Expression, error) {
	query, err := gojq.Parse(text)
	if err != nil {
		var wrong *gojq.ParseError
		if !errors.As(err, &wrong) {
			return nil, fmt.Errorf("%s is %q: %w", flag, text, err)
		}
		column := len([]rune(text[:max(0, min(len(text), wrong.Offset-len(wrong.Token)))])) + 1
		return nil, fmt.Errorf("%s does not parse at column %d: %w\n  %s\n  %s^", flag, column, err, text,
			strings.Repeat(" ", column-1))
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, fmt.Errorf("%s is %q: %w", flag, text, err)
	}
	return &Expression{code, ctx}, nil
}

// Selects reports whether the first result for a body is neither false nor null. A body that is no JSON is not
// selected.
func (e *Expression) Selects(body []byte) (bool, error) {
	in, noJSON := decodeJSON(body)
	if noJSON != nil {
		return false, nil //nolint:nilerr // it is not selected
	}
	out, err := e.first(in)
	return err == nil && out != nil && out != false, err
}

// Edit returns the first result for a body, as JSON. A body that the expression does not change is returned as it is.
func (e *Expression) Edit(body []byte) ([]byte, error) {
	in, err := decodeJSON(body)
	if err != nil {
		return nil, fmt.Errorf("the body is no JSON: %w", err)
	}
	was, err := decodeJSON(body) // the expression may change its input
	if err != nil {
		return nil, err
	}
	out, err := e.first(in)
	switch {
	case err != nil:
		return nil, err
	case reflect.DeepEqual(out, was):
		return body, nil
	}
	edited, err := gojq.Marshal(out)
	if err == nil && len(edited) > expressionMost {
		err = fmt.Errorf("the result has %d bytes, and %d are allowed", len(edited), expressionMost)
	}
	return edited, err
}

const (
	// expressionTakes bounds the time of an expression for one message: one may never end.
	expressionTakes = time.Second
	// expressionMost bounds its result.
	expressionMost = 16 << 20
)

// first returns the first result.
func (e *Expression) first(in any) (any, error) {
	ctx, cancel := context.WithTimeout(e.within, expressionTakes)
	defer cancel()
	out, ok := e.code.RunWithContext(ctx, in).Next()
	if err, failed := out.(error); failed {
		switch {
		case e.within.Err() != nil:
			err = context.Cause(e.within)
		case ctx.Err() != nil:
			err = fmt.Errorf("the expression did not end within %v", expressionTakes)
		}
		return nil, err
	}
	if !ok {
		return nil, errors.New("the expression has no result for it")
	}
	return out, nil
}

// decodeJSON reads one value, and keeps the digits of its numbers.
func decodeJSON(body []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more behind its end")
	}
	return v, nil
}
