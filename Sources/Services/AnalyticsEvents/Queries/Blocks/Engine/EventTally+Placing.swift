/// Assigns events to the cells in which they are counted.
extension EventTally {
    /// Writes the cell of each event of a part to `cells`; -1 if the event does not count.
    mutating func placeEvents(of part: BlockPart, _ block: BlockProfiles) throws {
        let cells = cells.room(for: part.events)
        // Events without a name do not count when grouping by name.
        guard group != .name || part.name != 0 else { return cells.update(repeating: -1, count: part.events) }
        let valueOfPart = group == .none ? try number(of: .none) : group == .name ? try number(of: .term(part.name)) : 0
        if let interval = interval(of: part.firstAt), interval == self.interval(of: part.lastAt) {
            cells.update(repeating: Int32(valueOfPart * intervalCount + interval), count: part.events)
        } else {
            let times = times.room(for: part.events)
            try part.readTimes(into: times)
            for index in 0..<part.events {
                cells[index] = interval(of: times[index]).map { Int32(valueOfPart * intervalCount + $0) } ?? -1
            }
        }
        try applyProfiles(to: cells, part, block)
        try applyProperties(to: cells, part)
    }

    private func interval(of at: Int64) -> Int? {
        guard at >= bounds[0], at < bounds[bounds.count - 1] else { return nil }
        var (low, high) = (0, bounds.count - 1)
        while high - low > 1 {
            let middle = (low + high) / 2
            if at < bounds[middle] { high = middle } else { low = middle }
        }
        return low
    }

    /// The number of a value; adds the value if it is new.
    ///
    /// - Throws: `NotInBlocks` if there are too many values or cells.
    private mutating func number(of value: Value) throws -> Int {
        if let number = numbers[value] { return number }
        guard values.count < Self.maximumValues, counts.count + intervalCount <= Self.maximumCells else {
            throw NotInBlocks()
        }
        numbers[value] = values.count
        values.append(value)
        counts.append(contentsOf: repeatElement(0, count: intervalCount))
        return values.count - 1
    }

    private mutating func applyProfiles(
        to cells: UnsafeMutablePointer<Int32>, _ part: BlockPart, _ block: BlockProfiles
    ) throws {
        var isNeeded = filters.contains { if case .term = $0 { true } else { false } }
        if case .dimension = group { isNeeded = true }
        guard isNeeded else { return }
        if part.block != offsetsBlock {
            offsets = try self.offsets(of: block)
            offsetsBlock = part.block
        }
        let list = profiles.room(for: part.events)
        try part.readProfiles(into: list, below: block.count)
        offsets.withUnsafeBufferPointer { offsets in
            for index in 0..<part.events where cells[index] >= 0 {
                let offset = offsets[Int(list[index])]
                cells[index] = offset < 0 ? -1 : cells[index] &+ offset
            }
        }
    }

    /// For each profile, the distance of its cells from those of the first value; -1 if its events do not count.
    private mutating func offsets(of block: BlockProfiles) throws -> [Int32] {
        var offsets = [Int32](repeating: 0, count: block.count)
        if case .dimension(let dimension) = group {
            let values = try block.terms[dimension].distinct.map {
                Int32(try number(of: $0 == 0 ? .none : .term($0)) * intervalCount)
            }
            for (profile, index) in block.terms[dimension].indices.enumerated() {
                offsets[profile] = values[Int(index)]
            }
        }
        for case .term(let dimension, let expected) in filters {
            let expectedIndex = block.terms[dimension].distinct.firstIndex(of: expected).map { UInt32($0) }
            for (profile, index) in block.terms[dimension].indices.enumerated() where index != expectedIndex {
                offsets[profile] = -1
            }
        }
        return offsets
    }

    private mutating func applyProperties(to cells: UnsafeMutablePointer<Int32>, _ part: BlockPart) throws {
        for case .text(let path, let expected) in filters {
            let list = filterValues.room(for: part.events)
            let number = try part.readProperty(path, into: list).firstIndex(of: expected).map { UInt32($0 + 1) }
            for index in 0..<part.events where list[index] != number { cells[index] = -1 }
        }
        guard case .property(let path) = group else { return }
        let list = groupValues.room(for: part.events)
        let texts = try part.readProperty(path, into: list)
        var offsets: [Int32] = [-1]
        offsets.append(contentsOf: repeatElement(-1, count: texts.count))
        for index in 0..<part.events where cells[index] >= 0 {
            let text = Int(list[index])
            // A value gets its number with the first event that counts.
            if offsets[text] < 0 {
                offsets[text] = Int32(try number(of: text == 0 ? .none : .text(texts[text - 1])) * intervalCount)
            }
            cells[index] &+= offsets[text]
        }
    }
}
