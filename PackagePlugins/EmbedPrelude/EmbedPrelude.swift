import Foundation
import PackagePlugin

/// Puts the JavaScript of `Prelude/` into the program: parts that share one scope in `main`, others for when they are
/// first used.
@main
struct EmbedPrelude: BuildToolPlugin {
    private static let main = [
        "errors", "values", "abort", "timers", "calls", "streams", "host", "inspect", "console", "text", "clone",
        "project",
        "globals",
    ]

    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let folder = target.directoryURL.appending(path: "Prelude")
        let files = Self.main.map { folder.appending(path: "\($0).js") }
        let output = context.pluginWorkDirectoryURL.appending(path: "Prelude.swift")
        return [
            .buildCommand(
                displayName: "Embedding the prelude", executable: try context.tool(named: "prelude-embed").url,
                arguments: [output.path] + files.map(\.path), inputFiles: files, outputFiles: [output])
        ]
    }
}
