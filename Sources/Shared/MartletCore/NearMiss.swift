/// Suggests the most similar name for an unknown one, which is probably misspelled.
public enum NearMiss {
    /// The most similar of `names`, ignoring case and allowing few edits; nil if none is similar.
    public static func suggestion(for name: String, among names: some Collection<String>) -> String? {
        let lowered = Array(name.lowercased().unicodeScalars.prefix(64))
        let limit = max(1, min(3, lowered.count / 3))
        return names.map {
            (name: $0, distance: distance(lowered, Array($0.lowercased().unicodeScalars.prefix(64)), upTo: limit))
        }
        .filter { $0.distance <= limit }
        .min { ($0.distance, $0.name) < ($1.distance, $1.name) }?.name
    }

    /// ` Did you mean …?` to append to a sentence, or an empty string.
    public static func question(for name: String, among names: some Collection<String>) -> String {
        suggestion(for: name, among: names).map { " Did you mean \($0)?" } ?? ""
    }

    /// The optimal string alignment distance (insertions, deletions, substitutions and transpositions), exact only up
    /// to `limit`.
    private static func distance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar], upTo limit: Int) -> Int {
        guard abs(left.count - right.count) <= limit else { return limit + 1 }
        var before = [Int](repeating: 0, count: right.count + 1)
        var above = Array(0...right.count)
        for row in left.indices {
            var current = [row + 1]
            for column in right.indices {
                let isSame = left[row] == right[column]
                var least = min(above[column + 1] + 1, current[column] + 1, above[column] + (isSame ? 0 : 1))
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    least = min(least, before[column - 1] + 1)
                }
                current.append(least)
            }
            (before, above) = (above, current)
        }
        return above[right.count]
    }
}
