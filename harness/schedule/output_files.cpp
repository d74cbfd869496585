// Files that several kinds of training can write.
#include "harness/request/output_files.hpp"

namespace strobe {
namespace {

const Register<OutputFileTag> embeddings_registered{
    {"embeddings",
     "write the embeddings that the trained weights of the one case give to this .npy file: [steps, vertices, "
     "features], or of models of events [events, 3, features] for source, destination and a negative",
     "",
     {},
     {"embeddings", "a workload with values"},
     {}}};

const Register<OutputFileTag> scores_registered{
    {"scores",
     "task future-links: write the scores of the judged events and of their candidates under the trained weights of "
     "the one case to this .npz file, as the evaluator of package py-tgb reads them (y_pred_pos, y_pred_neg; those of "
     "validation events begin with validation_)",
     "",
     {},
     {"scores", "task future-links"},
     {}}};

const Register<OutputFileTag> samples_registered{
    {"samples",
     "write the samples that the task of the one case drew, positives and negatives, to this .csv file",
     "",
     {},
     {"samples", "a task that draws some"},
     {}}};

}  // namespace
}  // namespace strobe
