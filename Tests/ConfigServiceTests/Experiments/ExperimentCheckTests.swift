import MartletAPI
import MartletCore
import Testing

@testable import ConfigService

@Suite struct ExperimentCheckTests {
    @Test(arguments: [
        (#"{"variation":[]}"#, "unknown-member", "/variation"),
        (#"{"variations":null}"#, "required", "/variations"),
        (#"{"variations":[{"key":"a"}]}"#, "wrong-type", "/variations"),
        (#"{"variations":[{"key":"a"},{"key":"b"}]}"#, "no-difference", "/variations"),
        (#"{"variations":[{"key":"a"},{"key":"a","flags":{"x":1}}]}"#, "duplicate", "/variations"),
        (#"{"variations":[{"key":"a/b"},{"key":"b","flags":{"x":1}}]}"#, "invalid-name", "/variations/0/key"),
        (
            #"{"variations":[{"key":"a","weight":0.5},{"key":"b","weight":0.6,"flags":{"x":1}}]}"#, "weights",
            "/variations"
        ),
        (
            #"{"variations":[{"key":"a","weight":0},{"key":"b","weight":1,"flags":{"x":1}}]}"#, "out-of-range",
            "/variations/0/weight"
        ),
        (
            #"{"variations":[{"key":"a"},{"key":"b","configuration":{"name":"1.2.0"}}]}"#, "required",
            "/variations/1/configuration/version"
        ),
        (
            #"{"variations":[{"key":"a"},{"key":"b","configuration":{"name":"1.2/0","version":1}}]}"#, "invalid-name",
            "/variations/1/configuration/name"
        ),
        (#"{"variations":[{"key":"a"},{"key":"b","flags":[]}]}"#, "wrong-type", "/variations/1/flags"),
        (#"{"configuration":null}"#, "required", "/configuration"),
        (#"{"configuration":"1.2.0/x"}"#, "invalid-name", "/configuration"),
        (#"{"appVersion":"1.3.0"}"#, "conflict", "/appVersion"),
        (#"{"coverage":1.5}"#, "out-of-range", "/coverage"),
        (#"{"coverage":"1"}"#, "out-of-range", "/coverage"),
        (#"{"start":"tomorrow"}"#, "wrong-type", "/start"),
        (#"{"start":"2026-11-22T00:00:00Z","end":"2026-11-21T00:00:00Z"}"#, "out-of-range", "/end"),
        (#"{"unit":"session"}"#, "unknown-value", "/unit"),
        (#"{"condition":[]}"#, "invalid-condition", "/condition"),
        (#"{"namespace":{"name":"x","range":[0.5,0.5]}}"#, "out-of-range", "/namespace/range"),
        (#"{"namespace":{"name":"","range":[0,0.5]}}"#, "invalid-name", "/namespace/name"),
        (#"{"holdout":{"seed":"x","share":1}}"#, "out-of-range", "/holdout/share"),
        (#"{"sticky":"yes"}"#, "wrong-type", "/sticky"),
        (#"{"minimumBucketVersion":1}"#, "out-of-range", "/minimumBucketVersion"),
        (#"{"phase":1.5}"#, "out-of-range", "/phase"),
        (#"{"metrics":[{"name":"a"},{"name":"a"}]}"#, "duplicate", "/metrics"),
        (#"{"metrics":[{"name":"a","kind":"median"}]}"#, "unknown-value", "/metrics/0/kind"),
        (#"{"metrics":[{"name":"a","kind":"ratio","covariate":true}]}"#, "conflict", "/metrics/0/covariate"),
        (#"{"metrics":[{"name":"a","prior":{"mean":0}}]}"#, "required", "/metrics/0/prior/standardDeviation"),
        (#"{"guardRails":{"alpha":0}}"#, "out-of-range", "/guardRails/alpha"),
        (#"{"guardRails":{"beta":0.2}}"#, "unknown-member", "/guardRails/beta"),
        (#"{"decision":{"variation":"dark"}}"#, "conflict", "/decision"),
        (#"{"state":"running"}"#, "state-changed", "/state"),
        (#"{"state":"decided","decision":{"variation":"dark"}}"#, "state-changed", "/state"),
    ])
    func `An error names its code and path`(changes: String, code: String, path: String) throws {
        let findings = ExperimentKind().check(
            try TestExperiment.json(changes), named: "checkout", in: TestExperiment.space())
        #expect(findings.contains { $0.severity == .error && $0.code == code && $0.path == path }, "\(findings)")
    }

    @Test func `A valid document has no findings`() throws {
        let changes = """
            {"appVersion":"1.2.0","coverage":0.5,"start":"2026-11-22T00:00:00.5Z","end":"2026-12-22T00:00:00+01:00","seed":"s","sticky":true,
             "condition":{"country":{"$in":["DE","AT"]}},"namespace":{"name":"n","range":[0,0.5]},"holdout":{"seed":"h","share":0.05},
             "metrics":[{"name":"a","kind":"mean","goal":"decrease","covariate":true,"minimumEffect":0.02,"prior":{"mean":0,"standardDeviation":0.3}}],
             "guardRails":{"minimumUnits":1000,"sampleRatioThreshold":0.01,"alpha":0.1,"power":0.9,"tuning":10000},"description":"Long."}
            """
        #expect(
            ExperimentKind().check(try TestExperiment.json(changes), named: "checkout", in: TestExperiment.space())
                == [])
        #expect(
            ExperimentKind().problem(withName: "checkout") == nil && ExperimentKind().problem(withName: "a~b") != nil)
    }

    @Test(arguments: [
        ("{}", "{}", true), (#"{"configuration":"1.3.0"}"#, "{}", false),
        (#"{"namespace":{"name":"n","range":[0,0.5]}}"#, #"{"namespace":{"name":"n","range":[0.5,1]}}"#, false),
        (#"{"namespace":{"name":"n","range":[0,0.6]}}"#, #"{"namespace":{"name":"n","range":[0.5,1]}}"#, true),
        (#"{"namespace":{"name":"n","range":[0,0.5]}}"#, #"{"namespace":{"name":"m","range":[0.5,1]}}"#, true),
        (
            #"{"namespace":{"name":"n","range":[0,0.5]},"unit":"user"}"#,
            #"{"namespace":{"name":"n","range":[0.5,1]}}"#, true
        ),
        (#"{"end":"2026-12-01T00:00:00Z"}"#, #"{"start":"2026-12-01T00:00:00Z"}"#, false),
        (#"{"end":"2026-12-02T00:00:00Z"}"#, #"{"start":"2026-12-01T00:00:00Z"}"#, true),
        (
            #"{"configuration":null,"variations":[{"key":"a","flags":{"x":1}},{"key":"b"}]}"#,
            #"{"configuration":null,"variations":[{"key":"a","flags":{"x":1}},{"key":"b"}]}"#, true
        ),
        (
            #"{"configuration":null,"variations":[{"key":"a","flags":{"x":1}},{"key":"b"}]}"#,
            #"{"configuration":null,"variations":[{"key":"a","flags":{"y":1}},{"key":"b"}]}"#, false
        ),
    ])
    func `Experiments on the same configuration or flag must exclude each other`(
        one: String, other: String, isRefused: Bool
    ) throws {
        let space = TestExperiment.space(try TestExperiment.compiled("other", other))
        let findings = ExperimentKind.conflicts(
            of: try TestExperiment.compiled("one", one).document, named: "one", in: space)
        #expect(findings.contains { $0.code == "overlapping-experiments" } == isRefused, "\(findings)")
    }

    @Test(
        arguments: [
            (#"{"variations":[{"key":"control","weight":0.4},{"key":"dark","weight":0.6,"flags":{"x":1}}]}"#, "/phase"),
            (
                #"{"variations":[{"key":"control","weight":0.4},{"key":"dark","weight":0.6,"flags":{"x":1}}],"phase":1}"#,
                nil
            ),
            (
                #"{"variations":[{"key":"control","weight":0.4},{"key":"dark","weight":0.6,"flags":{"x":1}}],"phase":1,"sticky":false}"#,
                "/phase"
            ),
            (
                #"{"variations":[{"key":"control","weight":0.4},{"key":"dark","weight":0.6,"flags":{"x":1}}],"bucketVersion":3}"#,
                nil
            ),
            (#"{"variations":[{"key":"control"},{"key":"light","flags":{"x":1}}],"phase":1}"#, "/variations"),
            (#"{"coverage":0.4}"#, "/phase"), (#"{"coverage":0.9}"#, nil), (#"{"condition":{"a":1}}"#, "/phase"),
            (#"{"condition":{"a":1},"phase":1}"#, nil),
            (#"{"seed":"other"}"#, "/seed"), (#"{"unit":"user"}"#, "/unit"),
            (#"{"bucketVersion":1}"#, "/bucketVersion"),
            (#"{"namespace":{"name":"n","range":[0,0.5]}}"#, "/phase"),
            (#"{"holdout":{"seed":"h","share":0.1}}"#, "/phase"), (#"{"title":"New"}"#, nil),
            (#"{"metrics":[{"name":"a"}]}"#, nil),
        ] as [(String, String?)])
    func `Changes that would move units of a running experiment are refused`(changes: String, path: String?) throws {
        let before = #"{"coverage":0.5,"bucketVersion":2}"#
        let space = TestExperiment.space(try TestExperiment.compiled("checkout", before))
        let document = try TestExperiment.json(#"{"state":"running"}"#).merging(try JSONValue(parsing: before.utf8))
            .merging(try JSONValue(parsing: changes.utf8))
        let errors = ExperimentKind().check(document, named: "checkout", in: space).filter { $0.severity == .error }
        #expect(errors.map(\.path) == (path.map { [$0] } ?? []), "\(errors)")
    }
}
