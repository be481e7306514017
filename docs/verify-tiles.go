// Checks a log by the libraries of Go's checksum database, which know nothing of the service:
// verify-tiles URL API-KEY-FILE KEY CHECKPOINT
// KEY and CHECKPOINT are files that you kept of GET /log/key and GET /log/checkpoint. It checks the signature of the newest
// checkpoint, that the log has only grown since CHECKPOINT, and that 100 events of GET /log/export are in it.
package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func refuse(err error) {
	if err != nil {
		fmt.Printf("REFUSED: %q\n", err.Error())
		os.Exit(1)
	}
}

func must[T any](value T, err error) T {
	refuse(err)
	return value
}

func read(file string) string { return strings.TrimSpace(string(must(os.ReadFile(file)))) }

func get(path string) []byte {
	request := must(http.NewRequest("GET", os.Args[1]+path, nil))
	request.Header.Set("Authorization", "Bearer "+read(os.Args[2]))
	answer := must(http.DefaultClient.Do(request))
	defer answer.Body.Close()
	if answer.StatusCode != 200 {
		refuse(fmt.Errorf("%s answers %d", path, answer.StatusCode))
	}
	return must(io.ReadAll(answer.Body))
}

// A checkpoint is: origin, number of events, root; an empty line; lines with signatures.
func open(checkpoint string) tlog.Tree {
	key := must(note.NewVerifier(read(os.Args[3])))
	lines := strings.Split(must(note.Open([]byte(checkpoint), note.VerifierList(key))).Text, "\n")
	tree := tlog.Tree{Hash: must(tlog.ParseHash(lines[2]))}
	must(fmt.Sscan(lines[1], &tree.N))
	return tree
}

type tiles struct{}

func (tiles) Height() int                     { return 8 }
func (tiles) SaveTiles([]tlog.Tile, [][]byte) {}
func (tiles) ReadTiles(wanted []tlog.Tile) (data [][]byte, _ error) {
	for _, tile := range wanted { // Go's paths have the height 8, and those of C2SP have none.
		data = append(data, get("/log/"+strings.Replace(tile.Path(), "tile/8/", "tile/", 1)))
	}
	return data, nil
}

func main() {
	kept, newest := open(read(os.Args[4])+"\n"), open(string(get("/log/checkpoint")))
	hashes := tlog.TileHashReader(newest, tiles{})
	refuse(tlog.CheckTree(must(tlog.ProveTree(newest.N, kept.N, hashes)), newest.N, newest.Hash, kept.N, kept.Hash))
	for range [100]int{} {
		var event struct{ Leaf_hash string }
		at, leaf := rand.Int63n(newest.N), tlog.Hash{}
		refuse(json.Unmarshal(get(fmt.Sprintf("/log/export?after=%d&limit=1", at)), &event))
		copy(leaf[:], must(hex.DecodeString(event.Leaf_hash)))
		refuse(tlog.CheckRecord(must(tlog.ProveRecord(newest.N, at, hashes)), newest.N, newest.Hash, at, leaf))
	}
	fmt.Printf("OK: the log of %d events continues that of %d, and 100 of its events are in it\n", newest.N, kept.N)
}
