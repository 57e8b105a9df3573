// Package jq evaluates expressions in the language of jq on the bodies of messages, within bounds.
//
// Its noun: an [Expression] selects bodies, or edits them.
package jq
