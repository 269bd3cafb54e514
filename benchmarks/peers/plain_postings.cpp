// Plain postings: 32-bit item numbers, a float added a posting, one list after another, and a heap for the best.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

extern "C" void plain_search(const std::int64_t* offsets, const std::uint32_t* items, const float* norms,
                             std::int64_t documents, const std::int32_t* tokens, const float* weights,
                             std::int64_t count, float* sums, std::int64_t k, std::uint32_t* best) {
    std::fill(sums, sums + documents, 0.0F);
    for (std::int64_t each = 0; each < count; ++each) {
        const float weight = weights[each];
        for (std::int64_t at = offsets[tokens[each]]; at < offsets[tokens[each] + 1]; ++at) sums[items[at]] += weight;
    }
    std::vector<std::pair<float, std::uint32_t>> heap;
    for (std::int64_t item = 0; item < documents; ++item) {
        const float score = sums[item] * norms[item];
        if (static_cast<std::int64_t>(heap.size()) == k && score <= heap.front().first) continue;
        if (static_cast<std::int64_t>(heap.size()) == k) {
            std::pop_heap(heap.begin(), heap.end(), std::greater<>());
            heap.pop_back();
        }
        heap.emplace_back(score, static_cast<std::uint32_t>(item));
        std::push_heap(heap.begin(), heap.end(), std::greater<>());
    }
    std::sort(heap.begin(), heap.end(), std::greater<>());
    for (std::size_t rank = 0; rank < heap.size(); ++rank) best[rank] = heap[rank].second;
}
