import Foundation
import PackagePlugin

/// Puts the JavaScript of `Prelude/` into the program: the files of a part share one scope.
@main
struct EmbedPrelude: BuildToolPlugin {
    private static let parts = [
        (
            "main",
            [
                "errors", "values", "abort", "timers", "calls", "streams", "host", "inspect", "console", "text",
                "clone",
                "project", "globals",
            ]
        ),
        ("url", ["url/percent", "url/host", "url/parse", "url/classes"]),
    ]

    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let folder = target.directoryURL.appending(path: "Prelude")
        return try Self.parts.map { part, names in
            let files = names.map { folder.appending(path: "\($0).js") }
            let output = context.pluginWorkDirectoryURL.appending(path: "Prelude+\(part).swift")
            return .buildCommand(
                displayName: "Embedding the prelude's part \(part)",
                executable: try context.tool(named: "prelude-embed").url,
                arguments: [output.path, part] + files.map(\.path), inputFiles: files, outputFiles: [output])
        }
    }
}
