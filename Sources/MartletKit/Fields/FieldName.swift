import Foundation

/// The stored field that a key path reads.
enum FieldName {
    private static let known = Locked<[AnyKeyPath: String]>([:])
    /// The `FieldProbe` of each type. An entry is never changed.
    private static let probes = Locked<[ObjectIdentifier: Any]>([:])

    static func of<Root: Storable>(_ path: PartialKeyPath<Root>) -> Result<String, MartletError> {
        if let name = Root.fieldNames[path] ?? known.withLock({ $0[path] }) { return .success(name) }
        do {
            let name = try probe(Root.self).name(of: path)
            known.withLock { $0[path] = name }
            return .success(name)
        } catch let error as MartletError {
            return .failure(error)
        } catch {
            let message = """
                \(Root.self) cannot be decoded from samples: \(error). Make its enums CaseIterable and other types \
                Sampled, or name the field in \(Root.self).fieldNames.
                """
            return .failure(MartletError(.unknownField, message, underlyingError: error))
        }
    }
}

extension FieldName {
    private static func probe<Root: Storable>(_ type: Root.Type) throws -> FieldProbe<Root> {
        if let known = probes.withLock({ $0[ObjectIdentifier(type)] as? FieldProbe<Root> }) { return known }
        let probe = try FieldProbe(type)
        probes.withLock { $0[ObjectIdentifier(type)] = probe }
        return probe
    }
}

/// A type decoded from samples: once from a base sample, and then once for each value with only that value changed.
struct FieldProbe<Root: Decodable> {
    private struct Sample {
        var root: Root
        /// What was decoded at each path, in order: a property wrapper and its wrapped value have the same path.
        var values: [String: [Any]]
    }

    private let base: Sample
    private let variants: [Sample]

    init(_ type: Root.Type) throws {
        let record = ProbeRecord(changing: nil)
        base = Sample(root: try Root(from: ProbeDecoder(record)), values: record.values)
        variants = try record.leaves.indices.map { index in
            let record = ProbeRecord(changing: record.leaves[index])
            return Sample(root: try Root(from: ProbeDecoder(record)), values: record.values)
        }
    }

    /// The name of the field whose decoded value equals what the key path reads, in every sample. In at least one
    /// sample the value must differ.
    func name(of path: PartialKeyPath<Root>) throws -> String {
        let original = base.root[keyPath: path]
        let read = variants.map { $0.root[keyPath: path] }
        guard read.contains(where: { !Self.areEqual($0, original) }) else { throw unknown(path) }
        let names = base.values.keys.filter { name in
            // An element of a list has no name.
            guard !name.split(separator: ".").contains("*") else { return false }
            let count = base.values[name]?.count ?? 0
            return (0..<count).contains { position in
                holds(original, base, name, position)
                    && zip(read, variants).allSatisfy { holds($0, $1, name, position) }
            }
        }
        guard let name = names.min(by: { $0.utf8.count < $1.utf8.count }) else { throw unknown(path) }
        return name
    }

    private func holds(_ value: Any, _ sample: Sample, _ name: String, _ position: Int) -> Bool {
        guard let values = sample.values[name], values.indices.contains(position) else { return false }
        return Self.areEqual(value, values[position])
    }

    private func unknown(_ path: PartialKeyPath<Root>) -> MartletError {
        let message = """
            A key path of type \(type(of: path).valueType) is not a stored field of \(Root.self). If it is one, name \
            it in \(Root.self).fieldNames, or use Field("name").
            """
        return MartletError(.unknownField, message)
    }

    private static func areEqual(_ left: Any, _ right: Any) -> Bool {
        let left = unwrapped(left), right = unwrapped(right)
        guard type(of: left) == type(of: right) else { return false }
        if let left = left as? any Equatable { return equals(left, right) }
        guard let left = left as? any Encodable, let right = right as? any Encodable else { return false }
        guard let left = try? JSON(encoding: left), let right = try? JSON(encoding: right) else { return false }
        return left == right
    }

    private static func equals<Value: Equatable>(_ left: Value, _ right: Any) -> Bool { left == right as? Value }

    private static func unwrapped(_ value: Any) -> Any {
        guard let optional = value as? any AnyOptional, let wrapped = optional.wrappedAny else { return value }
        return unwrapped(wrapped)
    }
}

private protocol AnyOptional { var wrappedAny: Any? { get } }
extension Optional: AnyOptional { fileprivate var wrappedAny: Any? { self } }

extension Result where Success == String, Failure == MartletError {
    /// The name of a field with a value, which is made once the name is known.
    func with(_ value: () throws -> JSON) -> Result<(name: String, value: JSON), MartletError> {
        flatMap { name in
            do {
                return .success((name, try value()))
            } catch let error as MartletError {
                return .failure(error)
            } catch {
                return .failure(MartletError(.unencodable, "\(error)", field: name, underlyingError: error))
            }
        }
    }
}
