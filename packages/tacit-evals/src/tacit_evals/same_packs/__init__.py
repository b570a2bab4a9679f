"""Whether two versions of Tacit hand over the same packs: a plan, a recording of what came back, a comparison of two recordings."""
