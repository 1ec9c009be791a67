// Package go_clients is what the programs of the folders of Go clients have in common.
package go_clients

import (
	"fmt"
	"os"
)

// Fail says what is wrong, and ends the program.
func Fail(format string, args ...any) {
	fmt.Printf(format+"\n", args...)
	os.Exit(1)
}

// Must fails by an error.
func Must(err error) {
	if err != nil {
		Fail("%v", err)
	}
}

// Check fails unless it is so.
func Check(ok bool, format string, args ...any) {
	if !ok {
		Fail(format, args...)
	}
}
