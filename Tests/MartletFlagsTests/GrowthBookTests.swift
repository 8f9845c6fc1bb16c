import MartletCore
import MartletFlags
import Testing

/// The 503 of GrowthBook's 517 published cases that apply to a server. The others are for browsers: `decrypt` (10)
/// opens encrypted payloads of a CDN, and `urlRedirect` (4) redirects a page. Compared results must have exactly the
/// same members.
@Suite("GrowthBook's published cases", .enabled(if: Vectors.exist(Vectors.growthBook)))
struct GrowthBookTests {
    @Test("Conditions match the right attributes", arguments: GrowthBookCase.all("evalCondition"))
    func conditions(_ given: GrowthBookCase) {
        let groups = (given.parts.count > 4 ? given.parts[4] : .null).members.map {
            ($0.name, $0.value.elements.map(FlagValue.init))
        }
        var compiler = ConditionCompiler(groups: Dictionary(uniqueKeysWithValues: groups))
        let condition = compiler.compile(given.parts[1])
        #expect(condition.matches(FlagAttributes(given.parts[2])) == given.parts[3].bool)
    }

    @Test("Values have the published hashes", arguments: GrowthBookCase.all("hash"))
    func hash(_ given: GrowthBookCase) {
        let parts = given.parts
        let hash = parts[2].double.flatMap { FlagHash(rawValue: Int($0)) }
        #expect(hash?.bucket(of: parts[1].string ?? "", seed: parts[0].string ?? "") == parts[3].double)
    }

    @Test("Coverage and weights make the published ranges", arguments: GrowthBookCase.all("getBucketRange"))
    func ranges(_ given: GrowthBookCase) {
        let arguments = given.parts[1].elements
        let weights = arguments[2] == .null ? nil : arguments[2].elements.compactMap(\.double)
        let ranges = Bucketing.ranges(
            Int(arguments[0].double ?? 0), coverage: arguments[1].double ?? 1, weights: weights)
        let expected = given.parts[2].elements.map { $0.elements.compactMap(\.double) }
        #expect(ranges.count == expected.count)
        for (range, expected) in zip(ranges, expected) {
            #expect(abs(range.start - expected[0]) < 1e-9 && abs(range.end - expected[1]) < 1e-9)
        }
    }

    @Test("A hash lies in the range of one variation", arguments: GrowthBookCase.all("chooseVariation"))
    func variation(_ given: GrowthBookCase) {
        let ranges = given.parts[2].elements.map { BucketRange($0.elements[0].double ?? 0, $0.elements[1].double ?? 0) }
        #expect(
            Bucketing.variation(at: given.parts[1].double ?? 0, in: ranges) ?? -1 == Int(given.parts[3].double ?? 0))
    }

    @Test("Namespaces contain the right users", arguments: GrowthBookCase.all("inNamespace"))
    func namespace(_ given: GrowthBookCase) {
        let parts = given.parts[2].elements
        let namespace = Namespace(parts[0].string ?? "", BucketRange(parts[1].double ?? 0, parts[2].double ?? 0))
        #expect(namespace.contains(given.parts[1].string ?? "") == given.parts[3].bool)
    }

    @Test("Equal weights have the published values", arguments: GrowthBookCase.all("getEqualWeights"))
    func equalWeights(_ given: GrowthBookCase) {
        let weights = Bucketing.equalWeights(Int(given.parts[0].double ?? 0))
        let expected = given.parts[1].elements.compactMap(\.double)
        #expect(weights.count == expected.count)
        #expect(zip(weights, expected).allSatisfy { abs($0 - $1) < 1e-7 })
    }

    @Test("A query parameter forces a variation", arguments: GrowthBookCase.all("getQueryStringOverride"))
    func address(_ given: GrowthBookCase) {
        let parts = given.parts
        let variation = Subject.variation(
            of: parts[1].string ?? "", in: parts[2].string ?? "", count: Int(parts[3].double ?? 0))
        #expect(variation.map(Double.init) == parts[4].double)
    }

    @Test(
        "Features have the published results",
        arguments: GrowthBookCase.all("feature") + GrowthBookCase.all("contextualBandit"))
    func features(_ given: GrowthBookCase) {
        let context = GrowthBookContext(given.parts[1])
        let result = context.set.evaluate(given.parts[2].string ?? "", for: context.subject)
        #expect(result.published == withoutCondition(FlagValue(given.parts[3])))
    }

    /// Removes the experiment's condition: the published result repeats it, but ours has only its compiled form. Its
    /// effect shows in who takes part.
    private func withoutCondition(_ result: FlagValue) -> FlagValue {
        guard case .object(var members) = result, case .object(var experiment) = members["experiment"] else {
            return result
        }
        experiment["condition"] = nil
        members["experiment"] = .object(experiment)
        return .object(members)
    }

    @Test("Experiments include the right users and give the right results", arguments: GrowthBookCase.all("run"))
    func experiments(_ given: GrowthBookCase) {
        var context = GrowthBookContext(given.parts[1])
        let experiment = context.compiler.standaloneExperiment(given.parts[2])
        context.force(experiment.key, by: given.parts[1]["url"], count: experiment.variations.count)
        let result = context.set.run(experiment, for: &context.subject)
        #expect(result.value.value == FlagValue(given.parts[3]))
        #expect(result.isInExperiment == given.parts[4].bool)
        #expect(result.isByHash == given.parts[5].bool)
    }

    @Test("A user who got a variation keeps it", arguments: GrowthBookCase.all("stickyBucket"))
    func sticky(_ given: GrowthBookCase) {
        let documents = given.parts[2].elements.map { document in
            StickyBuckets.Document(
                attributeName: document["attributeName"]?.string ?? "",
                attributeValue: document["attributeValue"]?.string ?? "",
                assignments: Dictionary(
                    uniqueKeysWithValues: (document["assignments"]?.members ?? []).map {
                        ($0.name, $0.value.string ?? "")
                    }))
        }
        // The owner of the documents looks up the user's own.
        let attributes = FlagAttributes(given.parts[1]["attributes"] ?? .object([]))
        let own = documents.filter { attributes[$0.attributeName] == .string($0.attributeValue) }
        var context = GrowthBookContext(given.parts[1], sticky: StickyBuckets(own))
        let result = context.set.evaluate(given.parts[3].string ?? "", for: &context.subject)
        #expect(result.experimentResult?.published ?? .null == FlagValue(given.parts[4]))
        #expect(context.subject.sticky.map(published) == FlagValue(given.parts[5]))
    }

    private func published(_ buckets: StickyBuckets) -> FlagValue {
        .object(
            buckets.documents.mapValues { document in
                .members([
                    "attributeName": .string(document.attributeName),
                    "attributeValue": .string(document.attributeValue),
                    "assignments": .object(document.assignments.mapValues(FlagValue.string)),
                ])
            })
    }
}

@Suite("Firebase's published percent cases", .enabled(if: Vectors.exist(Vectors.firebase)))
struct FirebasePercentTests {
    static let cases = ((try? Vectors.json(Vectors.firebase))?["cases"]?.elements ?? []).map { PublishedCase(json: $0) }

    struct PublishedCase: Sendable, CustomStringConvertible {
        let json: JSONValue
        var description: String { json["seed"]?.string ?? "" }
    }

    @Test("A condition of 50 percent matches the published half", arguments: cases)
    func half(_ given: PublishedCase) {
        let position = FlagHash.microPercent(
            of: given.json["randomizationId"]?.string ?? "", seed: given.json["seed"]?.string ?? "")
        #expect((position > 0 && position <= 50_000_000) == given.json["result"]?.bool)
    }
}
