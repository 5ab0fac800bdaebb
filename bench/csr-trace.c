/*
 * The limit of the graph benchmark: traverse.ts in C over plain arrays in memory (compressed sparse rows), each row already in the order of a
 * trace and every rule about an address computed in advance. It has no store, no delta, no assets and no times, so nothing that answers from a
 * store can be faster.
 *
 * Run: csr-trace FILE HOPS NODES_MAX EDGES_MAX < STARTS > RESULTS
 * FILE: nodes, then for both directions (out, in): offsets (nodes + 2 × u32), ids (u32), weights (f64); then a byte for each node: 1 if walks
 * pass it. STARTS: one number a line. RESULTS: `milliseconds addresses edges digest`, one line for each start. Little-endian machines only.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct {
  uint32_t *offsets;
  uint32_t *ids;
  double *weights;
} Rows;

static void *read_array(FILE *file, size_t count, size_t size) {
  void *array = malloc(count * size + 1);
  if (array == NULL || fread(array, size, count, file) != count) {
    fprintf(stderr, "csr-trace: the file ends early, or there is too little memory\n");
    exit(1);
  }
  return array;
}

static Rows read_rows(FILE *file, uint32_t nodes) {
  Rows rows;
  rows.offsets = read_array(file, (size_t)nodes + 2, 4);
  rows.ids = read_array(file, rows.offsets[nodes + 1], 4);
  rows.weights = read_array(file, rows.offsets[nodes + 1], 8);
  return rows;
}

static uint32_t nodes_max, edges_max, hops;
static Rows out, in;
static uint8_t *passes;
/* By address: the walk that saw it last, and its number in that walk. */
static uint32_t *walks, *numbers;
static uint32_t walk;
/* By number. */
static uint32_t *seen;
static uint8_t *depths, *expanded;
static uint32_t *from, *to;
static uint32_t seen_count, edge_count;

/* Adds an edge. Returns 0 if the budget does not allow it. */
static int take(uint32_t number, uint32_t other, int is_out) {
  int is_seen = walks[other] == walk;
  if (is_seen && expanded[numbers[other]]) return 1;
  if (edge_count == edges_max) return 0;
  if (!is_seen) {
    if (seen_count == nodes_max) return 0;
    walks[other] = walk;
    numbers[other] = seen_count;
    depths[seen_count] = depths[number] + 1;
    expanded[seen_count] = 0;
    seen[seen_count++] = other;
  }
  from[edge_count] = is_out ? seen[number] : other;
  to[edge_count++] = is_out ? other : seen[number];
  return 1;
}

static int expand(uint32_t number) {
  uint32_t node = seen[number];
  uint32_t o = out.offsets[node], o_end = out.offsets[node + 1];
  uint32_t i = in.offsets[node], i_end = in.offsets[node + 1];
  while (o < o_end || i < i_end) {
    int is_out = i == i_end || (o < o_end && (out.weights[o] > in.weights[i] ||
                                              (out.weights[o] == in.weights[i] && out.ids[o] <= in.ids[i])));
    if (!take(number, is_out ? out.ids[o++] : in.ids[i++], is_out)) return 0;
  }
  return 1;
}

static void trace(uint32_t start) {
  walk++;
  seen_count = edge_count = 0;
  walks[start] = walk;
  numbers[start] = 0;
  depths[0] = expanded[0] = 0;
  seen[seen_count++] = start;
  for (uint32_t number = 0; number < seen_count; number++) {
    if (depths[number] == hops || (number > 0 && !passes[seen[number]])) continue;
    expanded[number] = 1;
    if (!expand(number)) return;
  }
}

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

int main(int count, char **words) {
  if (count != 5) {
    fprintf(stderr, "Run: csr-trace FILE HOPS NODES_MAX EDGES_MAX < STARTS\n");
    return 2;
  }
  FILE *file = fopen(words[1], "rb");
  if (file == NULL) {
    perror(words[1]);
    return 1;
  }
  hops = (uint32_t)atoi(words[2]);
  nodes_max = (uint32_t)atoi(words[3]);
  edges_max = (uint32_t)atoi(words[4]);
  uint32_t nodes = *(uint32_t *)read_array(file, 1, 4);
  out = read_rows(file, nodes);
  in = read_rows(file, nodes);
  passes = read_array(file, (size_t)nodes + 1, 1);
  walks = calloc((size_t)nodes + 1, 4);
  numbers = malloc(((size_t)nodes + 1) * 4);
  seen = malloc((size_t)nodes_max * 4);
  depths = malloc(nodes_max);
  expanded = malloc(nodes_max);
  from = malloc((size_t)edges_max * 4);
  to = malloc((size_t)edges_max * 4);
  uint32_t start;
  while (scanf("%u", &start) == 1) {
    double before = milliseconds();
    trace(start);
    double took = milliseconds() - before;
    uint32_t digest = 0;
    for (uint32_t at = 0; at < edge_count; at++)
      digest = ((digest ^ from[at]) * 0x9e3779b1u ^ to[at]) * 0x85ebca6bu;
    printf("%.4f %u %u %u\n", took, seen_count, edge_count, digest);
  }
  return 0;
}
