/* main: converts texts into HTML, each in a tree of its own. Threads read and transform; the first
 * one writes, in the order of the command line, and disposes of each document as a whole.
 *
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "documents.h"
#include "tarn/tree/tree.h"
#include "tarn/tree/tree_report.h"

struct job {
  const char* path;
  const char* name;          /* Of what is written. */
  struct document* document; /* Null when there is a problem. */
  struct problem problem;
  int is_done;
};

struct conversion {
  struct choices choices;
  const char* folder; /* Null: to standard output. */
  int reports;
  int threads;
  struct job* jobs;
  size_t count;
  size_t next;    /* The next document for a thread to take. */
  size_t written; /* The next document to write. */
  pthread_mutex_t lock;
  pthread_cond_t changed;
};

static void convert(const struct conversion* c, struct job* job) {
  job->document = document_read(job->path, &job->problem);
  if (job->document == NULL) return;
  if (document_transform(job->document, &c->choices, &job->problem) == 0) return;
  tarn_tree_dispose(job->document);
  job->document = NULL;
}

/* A thread's trees are its own until the writer sees is_done under the lock; then they are the
 * writer's. It is not further ahead of the writer than a few documents. */
static void* convert_some(void* context) {
  struct conversion* const c = context;
  pthread_mutex_lock(&c->lock);
  while (c->next < c->count) {
    if (c->next >= c->written + 4 * (size_t)c->threads) {
      pthread_cond_wait(&c->changed, &c->lock);
      continue;
    }
    struct job* const job = &c->jobs[c->next++];
    pthread_mutex_unlock(&c->lock);
    convert(c, job);
    if (job->document != NULL) tarn_tree_hand_over(job->document);
    pthread_mutex_lock(&c->lock);
    job->is_done = 1;
    pthread_cond_broadcast(&c->changed);
  }
  pthread_mutex_unlock(&c->lock);
  return NULL;
}

/* The name without folders and with .html instead of .md, as a node below `parent`. */
static char* output_name(void* parent, const char* path) {
  const char* const slash = strrchr(path, '/');
  const char* const base = slash == NULL ? path : slash + 1;
  const size_t length = strlen(base);
  const int is_md = length > 3 && strcmp(base + length - 3, ".md") == 0;
  return tarn_tree_format(parent, "%.*s.html", (int)(is_md ? length - 3 : length), base);
}

/* The file has another name until it is complete. */
static int write_file(const struct conversion* c, const struct job* job) {
  char* const path = tarn_tree_format(job->document, "%s/%s", c->folder, job->name);
  char* const partial = tarn_tree_format(job->document, "%s.partial", path);
  FILE* const file = path == NULL || partial == NULL ? NULL : fopen(partial, "wb");
  if (file == NULL) return -1;
  int done = document_write(job->document, file);
  if (fclose(file) != 0) done = -1;
  if (done == 0) done = rename(partial, path);
  if (done != 0) remove(partial);
  return done;
}

static int write_job(const struct conversion* c, struct job* job) {
  if (job->document == NULL) {
    fprintf(stderr, "documents: %s\n", job->problem.text);
    return -1;
  }
  const int done = c->folder != NULL ? write_file(c, job) : document_write(job->document, stdout);
  if (done != 0) {
    fprintf(stderr, "documents: %s: cannot be written: %s\n", job->path, strerror(errno));
  }
  const tarn_tree_report_options named = TARN_TREE_REPORT_OPTIONS(.alike_min = 1);
  if (c->reports) tarn_tree_report_to_file(job->document, &named, stderr);
  tarn_tree_dispose(job->document);
  job->document = NULL;
  return done;
}

static int write_all(struct conversion* c) {
  int done = 0;
  for (size_t i = 0; i < c->count; ++i) {
    struct job* const job = &c->jobs[i];
    if (c->threads == 0) {
      convert(c, job);
    } else {
      pthread_mutex_lock(&c->lock);
      while (!job->is_done) pthread_cond_wait(&c->changed, &c->lock);
      c->written = i + 1;
      pthread_cond_broadcast(&c->changed);
      pthread_mutex_unlock(&c->lock);
      if (job->document != NULL) tarn_tree_take_over(job->document);
    }
    if (write_job(c, job) != 0) done = -1;
  }
  return done;
}

static int run(struct conversion* c) {
  pthread_t threads[64];
  int started = 0;
  pthread_mutex_init(&c->lock, NULL);
  pthread_cond_init(&c->changed, NULL);
  while (started < c->threads && pthread_create(&threads[started], NULL, convert_some, c) == 0) {
    ++started;
  }
  if (started == 0) c->threads = 0;
  int done = write_all(c);
  while (started > 0) pthread_join(threads[--started], NULL);
  pthread_cond_destroy(&c->changed);
  pthread_mutex_destroy(&c->lock);
  if (fflush(stdout) != 0) {
    fprintf(stderr, "documents: standard output: %s\n", strerror(errno));
    done = -1;
  }
  return done;
}

static int usage(const char* reason) {
  fprintf(stderr,
          "documents: %s\n"
          "usage: documents [--output FOLDER] [--without TITLE] [--comments] [--report]\n"
          "                 [--threads 0-64] FILE...\n",
          reason);
  return 2;
}

static int by_name(const void* left, const void* right) {
  return strcmp(*(char* const*)left, *(char* const*)right);
}

/* What is to be done with each file. Null when there is no memory, or two files would be written to
 * one. */
static struct job* make_jobs(const struct conversion* c, char** paths) {
  const size_t count = c->count;
  struct job* const jobs = tarn_tree_allocate_zeroed(NULL, count, sizeof *jobs);
  const char** const names = tarn_tree_allocate_array(jobs, count, sizeof *names);
  int are_good = names != NULL;
  for (size_t i = 0; are_good && i < count; ++i) {
    jobs[i].path = paths[i];
    names[i] = jobs[i].name = output_name(jobs, paths[i]);
    are_good = names[i] != NULL;
  }
  if (are_good) qsort(names, count, sizeof *names, by_name);
  for (size_t i = 1; c->folder != NULL && are_good && i < count; ++i) {
    are_good = strcmp(names[i - 1], names[i]) != 0;
  }
  if (are_good) return jobs;
  tarn_tree_dispose(jobs);
  return NULL;
}

int main(int count, char** words) {
  struct conversion c = {.threads = 0};
  int i = 1;
  for (; i < count && words[i][0] == '-'; ++i) {
    const char* const word = words[i];
    char* end = NULL;
    if (strcmp(word, "--comments") == 0) {
      c.choices.keeps_comments = 1;
    } else if (strcmp(word, "--report") == 0) {
      c.reports = 1;
    } else if (i + 1 == count) {
      return usage("an option without its value");
    } else if (strcmp(word, "--output") == 0) {
      c.folder = words[++i];
    } else if (strcmp(word, "--without") == 0) {
      c.choices.without = words[++i];
    } else if (strcmp(word, "--threads") == 0) {
      const long threads = strtol(words[++i], &end, 10);
      if (*end != '\0' || threads < 0 || threads > 64) return usage("no number of threads");
      c.threads = (int)threads;
    } else {
      return usage("an option that there is not");
    }
  }
  if (i == count) return usage("no files");
  c.count = (size_t)(count - i);
  c.jobs = make_jobs(&c, words + i);
  if (c.jobs == NULL) return usage("two files of one name");
  const int status = run(&c) == 0 ? 0 : 1;
  tarn_tree_dispose(c.jobs);
  return status;
}
