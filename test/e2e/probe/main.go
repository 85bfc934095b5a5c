// probe shows whether a cluster's network works. Without an argument it answers on port 8080 with the name of its pod; with
// a URL it asks there until it has an answer, prints it and ends.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

func main() {
	if len(os.Args) > 1 {
		ask(os.Args[1])
		return
	}
	name, _ := os.Hostname()
	log.Fatal(http.ListenAndServe(":8080", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, name)
	})))
}

func ask(url string) {
	client := http.Client{Timeout: 5 * time.Second}
	for range 60 {
		response, err := client.Get(url)
		if err == nil {
			defer response.Body.Close()
			io.Copy(os.Stdout, response.Body)
			return
		}
		log.Print(err)
		time.Sleep(time.Second)
	}
	log.Fatalf("no answer from %s", url)
}
